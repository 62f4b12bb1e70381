//! The store of files that the reader asks with, before they are sent: by conversation, as drafts are.
//!
//! ```text
//! pasted, dropped, chosen ─▶ read (base64) ─▶ attaching::with ─▶ files ─ say ─▶ POST …/commands ─▶ Done or Refused
//!                                               └─ refused ─▶ problem            (not over the socket: frames are small)
//! ```

use js_sys::{Promise, Uint8Array};
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::code::ErrorCode;
use model::command::{Command, CommandAction, Done};
use model::event::{FileKind, MessageFile};
use model::frame::ServerFrame;
use model::limits::FILE_BYTES_MAX;
use model::{ConversationId, View};
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, FileList, FileReader};

use super::Store;
use crate::control::At;
use crate::{attaching, browser, route};

/// The files that the reader attached to messages not sent yet, by conversation. A handle: all copies refer to the same store, which
/// lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct AttachStore {
    /// The files, each with the conversation that it is for; `None` is a new one.
    files: RwSignal<Vec<(Option<ConversationId>, MessageFile)>>,
    /// Why the last file was not taken.
    pub(crate) problem: RwSignal<Option<String>>,
    /// What attaches files that are dropped on the composer; nothing while there is none. So what reads files is
    /// fetched with the composer.
    pub(crate) dropped: StoredValue<Option<TakesFiles>, LocalStorage>,
}

/// What takes files that are dropped.
type TakesFiles = Box<dyn Fn(&FileList)>;

impl AttachStore {
    /// A store without files.
    pub(super) fn new() -> Self {
        Self {
            files: RwSignal::new(Vec::new()),
            problem: RwSignal::new(None),
            dropped: StoredValue::new_local(None),
        }
    }

    /// The files for `conversation`. Tracks them.
    fn of(self, conversation: Option<&ConversationId>) -> Vec<MessageFile> {
        let is_its = |(of, _): &&(Option<ConversationId>, MessageFile)| of.as_ref() == conversation;
        self.files.with(|all| all.iter().filter(is_its).map(|(_, file)| file.clone()).collect())
    }

    /// Replaces the files for `conversation`.
    fn set(self, conversation: Option<&ConversationId>, files: Vec<MessageFile>) {
        self.files.update(|all| {
            all.retain(|(of, _)| of.as_ref() != conversation);
            all.extend(files.into_iter().map(|file| (conversation.cloned(), file)));
        });
    }
}

impl Store {
    /// The files that the reader is about to send here. Tracks them.
    pub(crate) fn attached(self) -> Vec<MessageFile> {
        let here = self.reading.conversation.get();
        self.attach.of(here.as_ref())
    }

    /// The kinds of files that the agent takes that is to answer, and its name. Tracks that.
    pub(crate) fn takes_files(self) -> (String, Vec<FileKind>) {
        let agent = self.answers().unwrap_or_default();
        let of = |agents: &Vec<crate::control::Agent>| {
            agents.iter().find(|known| known.name == agent).map(|known| known.files.clone())
        };
        let kinds = self.control.agents.with(of).unwrap_or_default();
        (agent, kinds)
    }

    /// Reads files and attaches them here, one after the other. What is not taken is said beside the composer.
    pub(crate) fn attach_all(self, files: &FileList) {
        let files: Vec<File> = (0..files.length()).filter_map(|number| files.get(number)).collect();
        let here = self.reading.conversation.get_untracked();
        self.attach.problem.set(None);
        spawn_local(async move {
            for file in files {
                let (agent, takes) = untrack(|| self.takes_files());
                let before = untrack(|| self.attach.of(here.as_ref()));
                let came = read(&file).await;
                match came.and_then(|file| attaching::with(&before, file, (&agent, &takes))) {
                    Ok(all) => self.attach.set(here.as_ref(), all),
                    Err(why) => self.attach.problem.set(Some(why)),
                }
            }
        });
    }

    /// Takes back the file with this number here.
    pub(crate) fn detach(self, number: usize) {
        let here = self.reading.conversation.get_untracked();
        let mut files = untrack(|| self.attach.of(here.as_ref()));
        if number < files.len() {
            files.remove(number);
        }
        self.attach.problem.set(None);
        self.attach.set(here.as_ref(), files);
    }

    /// Takes the files that are attached here, to be sent.
    pub(super) fn take_attached(self) -> Vec<MessageFile> {
        let here = self.reading.conversation.get_untracked();
        let files = untrack(|| self.attach.of(here.as_ref()));
        self.attach.problem.set(None);
        self.attach.set(here.as_ref(), Vec::new());
        files
    }

    /// Gives the command `action` with files over HTTP. If it is refused, the files are attached again.
    pub(super) fn say_over_http(self, conversation: ConversationId, id: &str, action: CommandAction) {
        let files = if let CommandAction::Say { files, .. } = &action { files.clone() } else { Vec::new() };
        let command = Command { id: id.into(), action: action.clone() };
        let body = serde_json::to_string(&command).unwrap_or_default();
        let at = At::Composer(conversation.clone());
        // The socket does not carry it; what it would have sent is dropped.
        drop(self.reading.view(|view: &View| self.control.give(at, conversation.clone(), id, action, view)));
        let id = command.id;
        spawn_local(async move {
            let path = format!("{}/commands", route::view_path(&conversation));
            let answer = browser::post(&path, &body).await;
            let done = answer.and_then(|text| {
                serde_json::from_str::<Done>(&text)
                    .map_err(|error| format!("The hub's answer could not be read: {error}"))
            });
            let frame = match done {
                Ok(done) => ServerFrame::Done(done),
                Err(message) => {
                    self.attach.set(Some(&conversation), files);
                    ServerFrame::Refused { id, code: ErrorCode::BadRequest, message }
                }
            };
            self.hear_answer(&frame);
        });
    }
}

/// Reads a file. The error is a sentence for the reader.
async fn read(file: &File) -> Result<MessageFile, String> {
    #[expect(clippy::cast_precision_loss, reason = "the limit is a few megabytes")]
    let most = FILE_BYTES_MAX as f64;
    if file.size() > most {
        let most = crate::format::bytes(FILE_BYTES_MAX as u64);
        return Err(format!("Not attached: {} is larger than {most}.", file.name()));
    }
    let failed = |_| format!("Not attached: the browser could not read {}.", file.name());
    let buffer = JsFuture::from(file.array_buffer()).await.map_err(failed)?;
    let bytes = Uint8Array::new(&buffer).to_vec();
    let mime = attaching::mime_of(&file.type_(), &bytes);
    let url = data_url(file).await.map_err(failed)?;
    let data = url.split_once(',').map(|(_, data)| data.to_owned()).unwrap_or_default();
    Ok(MessageFile::new(&file.name(), &mime, data))
}

/// The `data:` URL of a file, which has its contents in base64.
async fn data_url(file: &File) -> Result<String, wasm_bindgen::JsValue> {
    let reader = FileReader::new()?;
    let read = reader.clone();
    let promise = Promise::new(&mut |done, failed| {
        read.set_onload(Some(&done));
        read.set_onerror(Some(&failed));
    });
    reader.read_as_data_url(file)?;
    JsFuture::from(promise).await?;
    Ok(reader.result()?.as_string().unwrap_or_default())
}
