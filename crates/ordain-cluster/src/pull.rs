//! Taking messages, without ever waiting for longer than was said.

use crate::connect::ANSWER;
use crate::error::ClusterError;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::Batch;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Takes what is there, at most so many messages.
pub(crate) async fn take(consumer: &PullConsumer, most: usize) -> Result<Vec<Message>, ClusterError> {
    let until = Instant::now() + ANSWER;
    gather(until, consumer.fetch().max_messages(most).messages()).await
}

/// Waits for a message.
pub(crate) async fn wait(consumer: &PullConsumer, limit: Duration) -> Result<Vec<Message>, ClusterError> {
    let until = Instant::now() + limit + Duration::from_secs(1);
    gather(until, consumer.batch().max_messages(1).expires(limit).messages()).await
}

async fn gather<E: std::fmt::Display>(
    until: Instant,
    request: impl Future<Output = Result<Batch, E>>,
) -> Result<Vec<Message>, ClusterError> {
    let failed = |error: &dyn std::fmt::Display| ClusterError::server("give messages", error);
    let mut batch = match timeout_at(until, request).await {
        Ok(Ok(batch)) => batch,
        Ok(Err(error)) => return Err(failed(&error)),
        Err(_) => return Err(failed(&"it does not answer")),
    };
    let mut messages = Vec::new();
    loop {
        match timeout_at(until, batch.next()).await {
            Ok(Some(Ok(message))) => messages.push(message),
            // What has come has come; what goes wrong then is met again at the next attempt.
            Ok(Some(Err(error))) if messages.is_empty() => return Err(failed(&error)),
            Ok(Some(Err(_)) | None) | Err(_) => return Ok(messages),
        }
    }
}
