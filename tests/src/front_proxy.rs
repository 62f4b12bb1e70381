//! A reverse proxy of the system's packages in front of a hub, with a file of the documents: nginx and Caddy, each in a folder of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::wait::until;

/// What Debian's nginx wants to be told where it is not started by the system: no second process, no user of its own, and no folder but this one.
const NGINX: &str = "daemon off; master_process off; user root; pid nginx.pid; error_log stderr; events {} http { access_log off; \
                     client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi; \
                     include site.conf; }";

/// What Caddy wants to be told where it is not started by the system: no port for its administration, none for `http://`, and this machine alone.
const CADDY: &str = "{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n";

/// A reverse proxy in front of a hub. Dropping it ends the proxy.
#[derive(Debug)]
pub struct FrontProxy {
    _child: Child,
    _place: tempfile::TempDir,
    /// Where it listens for TLS.
    pub tls: SocketAddr,
    /// Where it listens for plain HTTP, if it does.
    pub plain: Option<SocketAddr>,
}

/// What is put in the place of what a file of the documents names.
#[derive(Debug)]
pub struct FrontSettings<'a> {
    /// The address of the hub.
    pub hub: SocketAddr,
    /// The folder with `cert.pem` and `key.pem`.
    pub certificate: &'a Path,
}

impl FrontProxy {
    /// Starts nginx with the text of a site, in which addresses, ports and the certificate are replaced.
    ///
    /// # Panics
    /// When nginx is not installed, does not take the file, or the file names something else than it did.
    pub async fn nginx(site: &str, settings: &FrontSettings<'_>) -> Self {
        let (tls, plain) = (free().await, free().await);
        let has_plain = site.contains("listen 80;");
        let mut site = replaced(site, "listen 443 ssl", &format!("listen {tls} ssl"));
        site = site.replace("listen 80;", &format!("listen {plain};"));
        for name in ["cert.pem", "key.pem"] {
            let own = settings.certificate.join(name).display().to_string();
            site = replaced(&site, &format!("/etc/ssl/fanlight/{name}"), &own);
        }
        let place = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).expect("a file");
        write("site.conf", &with_hub(&site, settings.hub));
        write("nginx.conf", NGINX);
        let mut command = Command::new(program("nginx"));
        command.arg("-p").arg(place.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
        Self::start(command, place, tls, has_plain.then_some(plain)).await
    }

    /// Starts Caddy with the text of a site called `fanlight.example`, in which addresses, the port and the certificate are replaced.
    ///
    /// # Panics
    /// When Caddy is not installed, does not take the file, or the file names something else than it did.
    pub async fn caddy(site: &str, settings: &FrontSettings<'_>) -> Self {
        let tls = free().await;
        let file = |name: &str| settings.certificate.join(name).display().to_string();
        let head = format!(
            "https://fanlight.example:{} {{\n\ttls {} {}\n",
            tls.port(),
            file("cert.pem"),
            file("key.pem")
        );
        let site = with_hub(&replaced(site, "fanlight.example {\n", &head), settings.hub);
        let place = tempfile::tempdir().expect("a directory");
        std::fs::write(place.path().join("Caddyfile"), format!("{CADDY}{site}")).expect("a file");
        let mut command = Command::new(program("caddy"));
        command.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            command.env(name, place.path());
        }
        Self::start(command, place, tls, None).await
    }

    async fn start(
        mut command: Command,
        place: tempfile::TempDir,
        tls: SocketAddr,
        plain: Option<SocketAddr>,
    ) -> Self {
        command.current_dir(place.path()).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().expect("the program starts");
        tokio::select! {
            ended = child.wait() => panic!("it does not take the file: {ended:?}, see above"),
            _open = until("the proxy to listen", async || TcpStream::connect(tls).await.ok()) => {}
        }
        Self { _child: child, _place: place, tls, plain }
    }
}

/// `text` with all addresses of hubs replaced by `hub`.
fn with_hub(text: &str, hub: SocketAddr) -> String {
    let documented = ["10.0.0.1:4600", "10.0.0.2:4600", "10.0.0.3:4600", "127.0.0.1:4600"];
    assert!(documented.iter().any(|address| text.contains(address)), "it names a hub: {text}");
    documented.iter().fold(text.to_owned(), |text, address| text.replace(address, &hub.to_string()))
}

/// `text` with `new` in the place of `old`, which is in it.
fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old:?} is in the file: {text}");
    text.replace(old, new)
}

/// An address of this machine at which nobody listens.
async fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("a bound socket has an address")
}

/// A program of the system's packages, also where only root has its folder on the search path.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{name} is not installed: apt-get install -y {name}"))
}
