mod failures;
mod messages;
mod next;
mod play;
mod prompts;
mod tools;
mod turns;
mod vocabulary;
