//! Creates a session on a running server, sends a message and follows the events, across reconnects.
//!
//! ```console
//! $ interlingua server --no-token &
//! $ cargo run -p interlingua-examples --bin follow_session
//! ```

use interlingua_client::{Client, CreateSessionRequest, EventQuery, MessageRequest};
use interlingua_schema::EventData;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:2468".to_owned());
    let mut builder = Client::builder(address);
    if let Ok(token) = std::env::var("INTERLINGUA_TOKEN") {
        builder = builder.token(token);
    }
    let client = builder.build()?;

    let session = format!("example-{}", std::process::id());
    client.create_session(&session, &CreateSessionRequest::new("mock")).await?;
    client.send_message(&session, &MessageRequest::new("demo")).await?;

    let mut events = client.follow_events(&session, EventQuery::default()).await?;
    while let Some(event) = events.next().await? {
        println!("{:>4} {}", event.sequence, event.data.kind());
        match event.data {
            // The mock's demo asks for permissions and asks questions. This program declines.
            EventData::PermissionRequested(permission) => {
                let id = permission.permission_id;
                client.reply_permission(&session, &id, interlingua_client::PermissionAnswer::Reject).await?;
            }
            EventData::QuestionRequested(question) => client.reject_question(&session, &question.question_id).await?,
            EventData::TurnEnded(_) | EventData::SessionEnded(_) => break,
            _ => {}
        }
    }
    client.terminate(&session).await?;
    Ok(())
}
