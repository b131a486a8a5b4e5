//! The workers that live: each tells so all the time, on a subject that nobody stores.

use crate::store::Cluster;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More workers are not counted.
const MOST: usize = 10_000;

/// What a worker tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// Who it is.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// How many fragments it explores at a time.
    pub slots: u32,
    /// How many it explores now.
    pub busy: u32,
    /// The share of its places that was used since it last told, from 0 to 1.
    pub utilisation: f64,
    /// Whether it leaves.
    #[serde(default)]
    pub leaves: bool,
}

/// The workers that live.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    heard: Arc<Mutex<BTreeMap<String, (Beat, Instant)>>>,
    silence: Duration,
}

/// Where workers tell that they live.
pub(crate) fn subject(id: &str) -> String {
    format!("ordain.workers.{id}")
}

impl Fleet {
    /// Listens for workers, as long as the task lives that it gives back.
    pub(crate) fn listen(cluster: &Cluster) -> (Self, Listening) {
        let fleet = Self { heard: Arc::default(), silence: cluster.timing.beat * 4 };
        let (listener, client) = (fleet.clone(), cluster.client.clone());
        let task = tokio::spawn(async move {
            loop {
                // The client subscribes again by itself after the server was away.
                if let Ok(mut beats) = client.subscribe(subject("*")).await {
                    while let Some(message) = beats.next().await {
                        listener.hear(&message.payload);
                    }
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        (fleet, Listening(task))
    }

    fn hear(&self, payload: &[u8]) {
        let Ok(mut beat) = serde_json::from_slice::<Beat>(payload) else { return };
        if beat.id.len() > 64 || !beat.id.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return;
        }
        beat.name = beat.name.chars().filter(|c| !c.is_control()).take(80).collect();
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let silence = self.silence;
        heard.retain(|_, (_, at)| at.elapsed() < silence * 4);
        if beat.leaves {
            heard.remove(&beat.id);
        } else if heard.len() < MOST || heard.contains_key(&beat.id) {
            heard.insert(beat.id.clone(), (beat, Instant::now()));
        }
    }

    /// Who was heard of lately.
    pub fn live(&self) -> Vec<Beat> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.values().filter(|(_, at)| at.elapsed() < self.silence).map(|(beat, _)| beat.clone()).collect()
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Listening(tokio::task::JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}
