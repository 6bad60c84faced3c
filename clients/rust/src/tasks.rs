//! The tasks that outlive their callers, as those that cancel a hold that was dropped.

use tokio::runtime::Handle;
use tokio::sync::watch;

pub(crate) struct Tasks {
    running: watch::Sender<usize>,
}

/// Counts a task for as long as it is there.
struct Running(watch::Sender<usize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl Tasks {
    pub fn new() -> Tasks {
        Tasks { running: watch::Sender::new(0) }
    }

    /// The result of a future that is played on, also if nobody waits for it.
    pub fn start<T: Send + 'static>(
        &self,
        runtime: &Handle,
        future: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.running.send_modify(|running| *running += 1);
        let running = Running(self.running.clone());
        runtime.spawn(async move {
            let _running = running;
            future.await
        })
    }

    /// Waits until there are none.
    pub async fn ended(&self) {
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }
}
