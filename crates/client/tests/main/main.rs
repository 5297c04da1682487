//! Conversations with servers: made ones of every revision, recorded ones, each also cut short and damaged.

mod conversations;
mod damage;
mod made;
mod over_tcp;
mod recorded;
mod scripted;
mod without_waiting;
