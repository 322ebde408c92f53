//! A browser under control: Chromium's DevTools protocol over a pair of pipes (`--remote-debugging-pipe`): JSON
//! messages that end with a zero byte, in and out.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// A machine under load is slow; only a hang takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

static NUMBER: AtomicU32 = AtomicU32::new(0);

pub struct Browser {
    child: Child,
    number: u32,
    to: File,
    messages: std::sync::mpsc::Receiver<Value>,
    /// What came while something else was waited for.
    events: VecDeque<Value>,
    next: u64,
    session: Option<String>,
    profile: PathBuf,
    page: String,
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors, which nobody else owns.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0, "a pipe");
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}

fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file())
}

impl Browser {
    /// Starts one; none, with a message, where there is no Chromium.
    pub fn start() -> Option<Self> {
        let Some(program) = installed() else {
            eprintln!("left out: no Chromium here (Debian, Ubuntu: apt install chromium)");
            return None;
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let profile =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("chromium-{}-{number}", std::process::id()));
        let ((their_in, our_out), (our_in, their_out)) = (pipe(), pipe());
        let (in_fd, out_fd) = (their_in.as_raw_fd(), their_out.as_raw_fd());
        let mut command = Command::new(program);
        command
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-extensions", "--disable-background-networking", "--disable-dev-shm-usage"])
            .args(["--window-size=1400,1000", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // SAFETY: only system calls that may be made between fork and exec.
        unsafe {
            command.pre_exec(move || {
                // Out of the way first: one of them may be 3 or 4 already.
                let (from, to) = (libc::dup(in_fd), libc::dup(out_fd));
                if libc::dup2(from, 3) < 0 || libc::dup2(to, 4) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("Chromium starts");
        drop((their_in, their_out));
        let (sender, messages) = std::sync::mpsc::channel();
        let mut from = File::from(our_in);
        std::thread::spawn(move || {
            let (mut buffer, mut bytes) = (Vec::new(), [0; 65536]);
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                buffer.extend_from_slice(&bytes[..read]);
                while let Some(end) = buffer.iter().position(|&byte| byte == 0) {
                    let message: Vec<u8> = buffer.drain(..=end).collect();
                    let parsed = serde_json::from_slice(&message[..end]).unwrap_or(Value::Null);
                    if sender.send(parsed).is_err() {
                        return;
                    }
                }
            }
        });
        let to = File::from(our_out);
        let (events, page) = (VecDeque::new(), String::new());
        let mut browser = Self { child, number, to, messages, events, next: 0, session: None, profile, page };
        let targets = browser.call("Target.getTargets", json!({}));
        let target = targets["targetInfos"].as_array().and_then(|all| all.iter().find(|one| one["type"] == "page"));
        let target = target.expect("a page")["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    pub const fn number(&self) -> u32 {
        self.number
    }

    fn receive(&mut self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("Chromium answers")
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("Chromium listens");
        loop {
            let message = self.receive();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push_back(message);
        }
    }

    pub fn go_to(&mut self, page: &Path) {
        self.page = format!("file://{}", page.display());
        self.call("Page.navigate", json!({ "url": self.page }));
        self.wait_for("document.readyState === 'complete' && document.documentElement.classList.contains('scripted')");
    }

    /// The value of an expression.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    pub fn wait_for(&mut self, condition: &str) {
        let began = Instant::now();
        while self.evaluate(condition) != true {
            assert!(began.elapsed() < PATIENCE, "never: {condition}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn press(&mut self, key: &str) {
        let mut down = json!({ "type": "keyDown", "key": key });
        if key.chars().count() == 1 {
            down["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
    }

    /// What the system prefers: `light` or `dark`.
    pub fn colours(&mut self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// The page as a PDF, in base64.
    pub fn print(&mut self) -> String {
        self.call("Page.printToPDF", json!({}))["data"].as_str().unwrap_or_default().to_owned()
    }

    /// Nothing went wrong on the page, and it asked for nothing but itself.
    pub fn finish(mut self) {
        // A round trip: what was said before it is here.
        self.evaluate("1");
        for event in std::mem::take(&mut self.events) {
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => panic!("an error on the page: {}", event["params"]),
                "Log.entryAdded" if event["params"]["entry"]["level"] == "error" => {
                    panic!("an error on the page: {}", event["params"])
                }
                "Network.requestWillBeSent" => {
                    let url = &event["params"]["request"]["url"];
                    assert_eq!(*url, self.page, "the page asks for nothing");
                }
                _ => {}
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
