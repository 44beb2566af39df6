//! After any sequence of operations, the store holds the same as a simple model in memory.

use std::collections::BTreeMap;

use interlingua_store::{Append, NewSession, RawPayloads, Session, SessionFilter, Store, StoreError};
use proptest::prelude::*;

use crate::backend::Backend;
use crate::fixtures::{event, new_message, read_all, session_ended, to_json};

#[derive(Clone, Debug)]
enum Step {
    Create(u8),
    /// Session, number of events, and distance of the first sequence from the expected one.
    Append(u8, u64, i64),
    End(u8),
    Enqueue(u8),
    Dequeue(u8),
    Delete(u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..3_u8;
    prop_oneof![
        2 => id.clone().prop_map(Step::Create),
        6 => (id.clone(), 1..4_u64).prop_map(|(id, count)| Step::Append(id, count, 0)),
        1 => (id.clone(), 1..3_u64, -2..3_i64).prop_map(|(id, count, offset)| Step::Append(id, count, offset)),
        1 => id.clone().prop_map(Step::End),
        2 => id.clone().prop_map(Step::Enqueue),
        2 => id.clone().prop_map(Step::Dequeue),
        1 => id.prop_map(Step::Delete),
        1 => Just(Step::Reopen),
    ]
}

/// Expected state of a session.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    events: u64,
    ended: bool,
    queue: Vec<String>,
}

struct Run<'a> {
    backend: &'a Backend,
    store: Option<Store>,
    model: BTreeMap<u8, (Session, Model)>,
    messages: u64,
}

impl Run<'_> {
    async fn run_step(&mut self, step: Step) {
        let store = self.store.clone().unwrap();
        match step {
            Step::Create(id) => {
                let created = store.create(NewSession::new(format!("s{id}"), "mock")).await;
                assert_eq!(created.is_ok(), !self.model.contains_key(&id));
                if let Ok(session) = created {
                    self.model.insert(id, (session, Model::default()));
                }
            }
            Step::Append(id, count, offset) => {
                let Some((session, model)) = self.model.get_mut(&id) else { return };
                let first = (model.events + 1).saturating_add_signed(offset);
                let appended = store.append(session.key, Append::events((first..first + count).map(event))).await;
                let expected = match (model.ended, first == model.events + 1) {
                    (true, _) => Err(StoreError::SessionEnded),
                    (false, true) => Ok(()),
                    (false, false) => Err(StoreError::OutOfOrder { expected: model.events + 1, found: first }),
                };
                assert_eq!(appended, expected);
                model.events += if expected.is_ok() { count } else { 0 };
            }
            Step::End(id) => {
                let Some((session, model)) = self.model.get_mut(&id).filter(|(_, model)| !model.ended) else { return };
                store.append(session.key, Append::events([session_ended(model.events + 1)])).await.unwrap();
                *model = Model { events: model.events + 1, ended: true, queue: Vec::new() };
            }
            Step::Enqueue(id) => {
                let Some((session, model)) = self.model.get_mut(&id) else { return };
                self.messages += 1;
                let text = format!("message {}", self.messages);
                let queued = store.enqueue(session.key, new_message(&text)).await;
                assert_eq!(queued.is_err(), model.ended);
                if queued.is_ok() {
                    model.queue.push(text);
                }
            }
            Step::Dequeue(id) => {
                let Some((session, model)) = self.model.get_mut(&id) else { return };
                let next = store.next_message(session.key).await.unwrap();
                assert_eq!(next.as_ref().map(|queued| &queued.message.text), model.queue.first());
                if let Some(queued) = next {
                    store.append(session.key, Append::events([]).begin(queued.id, model.events)).await.unwrap();
                    model.queue.remove(0);
                }
            }
            Step::Delete(id) => {
                if let Some((session, _)) = self.model.remove(&id) {
                    store.delete(session.key).await.unwrap();
                }
            }
            Step::Reopen => {
                drop(store);
                self.store = None;
                self.store = Some(self.backend.open().await);
            }
        }
    }

    async fn check(&self) {
        let store = self.store.as_ref().unwrap();
        assert_eq!(store.sessions(&SessionFilter::default(), 10, None).await.unwrap().sessions.len(), self.model.len());
        for (session, model) in self.model.values() {
            let stored = store.session(&session.id).await.unwrap().unwrap();
            assert_eq!((stored.key, stored.event_count, stored.ended), (session.key, model.events, model.ended));
            let mut events = to_json((1..=model.events).map(event));
            if model.ended {
                events.pop();
                events.extend(to_json([session_ended(model.events)]));
            }
            assert_eq!(read_all(store, session.key, RawPayloads::Include).await, events);
        }
    }
}

fn check_model(backend: &Backend, steps: Vec<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Some(backend.open().await);
        let mut run = Run { backend, store, model: BTreeMap::new(), messages: 0 };
        for step in steps {
            run.run_step(step).await;
        }
        run.check().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_sqlite_store_agrees_with_the_model(steps in proptest::collection::vec(step(), 1..60)) {
        check_model(&Backend::sqlite(), steps);
    }

    #[test]
    fn the_postgres_store_agrees_with_the_model(steps in proptest::collection::vec(step(), 1..60)) {
        if let Some(backend) = Backend::postgres() {
            check_model(&backend, steps);
        }
    }
}
