mod failures;
mod messages;
mod play;
mod prompts;
mod tools;
mod turns;
