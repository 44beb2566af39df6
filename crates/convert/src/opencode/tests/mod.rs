mod messages;
mod play;
mod tools;
mod turns;
