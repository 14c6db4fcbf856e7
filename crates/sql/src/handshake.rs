//! From an accepted socket to an authenticated client.
//!
//! The greeting carries a scramble for the default plugin. If the account uses another plugin, or the client answered with another,
//! the server asks once more with a fresh scramble. A client that wants TLS says so before it says who it is.
//! An account's password is never learnt from timing or from different messages: an
//! unknown account and a wrong password read the same (1045), and the more of them come from an address the later they are answered ([`crate::throttle`]).
//! root without a password, as a fresh server has it, is let in from the server's own machine only.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Instant};

use parking_lot::Mutex;
use session::{Account, Certificate, ClientInfo, Domain, Transport};
use types::mysql_error::{self, MysqlError};
use wire::{
    CapabilityFlags, Error, Stream,
    auth::{
        self, Plugin,
        caching_sha2::{self, CachedDigest},
        native,
    },
    compression::{Algorithm, Compression},
    handshake::{Greeting, HandshakeResponse, SCRAMBLE_LEN, server_capabilities, write_auth_more, write_auth_switch},
    packet::{PacketReader, PacketWriter},
    tls::{TlsAcceptor, TlsSession},
};

use crate::throttle::Throttle;

/// Plugin of the greeting. Clients that know another one only are asked again.
const DEFAULT_PLUGIN: Plugin = Plugin::Native;
/// `utf8mb4_0900_ai_ci`, the default collation of MySQL 8.0.
const DEFAULT_COLLATION: u8 = 255;
/// Largest packet before authentication.
const MAX_HANDSHAKE_PACKET: usize = 64 << 10;

/// Digests of accounts that have proved a `caching_sha2_password` password since the server started, with the stored form they belong
/// to: a changed password makes an entry useless.
#[derive(Debug, Default)]
pub struct DigestCache(Mutex<HashMap<(String, String), (String, CachedDigest)>>);

impl DigestCache {
    fn get(&self, account: &Account) -> Option<CachedDigest> {
        let cache = self.0.lock();
        let (stored, digest) = cache.get(&(account.user.clone(), account.host.clone()))?;
        (*stored == account.auth_string).then_some(*digest)
    }

    fn put(&self, account: &Account, password: &[u8]) {
        let entry = (account.auth_string.clone(), CachedDigest::new(password));
        self.0.lock().insert((account.user.clone(), account.host.clone()), entry);
    }
}

/// Why there is no client behind a handshake.
#[derive(Debug)]
pub enum Failure {
    /// The connection broke, or spoke another protocol.
    Protocol(Error),
    /// The client was refused; it has not been told yet.
    Refused(MysqlError),
    /// Client and server did not come to terms about TLS. Nobody can be told: there is no encrypted connection, and no plain one any more.
    Tls(std::io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Protocol(error)
    }
}

/// The streams and buffers of a connection whose client is not known yet.
pub struct Handshake<'a> {
    /// Its bytes.
    pub stream: &'a mut Stream,
    /// Its reading side.
    pub reader: &'a mut PacketReader,
    /// Its writing side.
    pub writer: &'a mut PacketWriter,
    /// The server's shared state.
    pub domain: &'a Arc<Domain>,
    /// Digests of passwords proved before.
    pub digests: &'a DigestCache,
    /// Failed logins.
    pub throttle: &'a Throttle,
    /// The server's side of TLS; none when it is not offered.
    pub tls: Option<&'a TlsAcceptor>,
    /// Whether root without a password is let in from other machines too.
    pub allow_empty_root_password: bool,
    /// TLS as it was agreed on.
    pub transport: Option<Transport>,
    /// Compression as it was agreed on.
    pub compression: Option<Compression>,
    /// The connection's id.
    pub connection_id: u64,
    /// Where the client comes from.
    pub peer: IpAddr,
}

impl Handshake<'_> {
    /// Greets, authenticates, and returns what both sides can do and who the client is. The final OK is left to the caller.
    pub async fn run(&mut self) -> Result<(CapabilityFlags, ClientInfo), Failure> {
        self.reader.set_limit(MAX_HANDSHAKE_PACKET);
        let scramble = auth::new_scramble();
        let offered = self.offered();
        let greeting = Greeting {
            version: self.domain.server_version(),
            connection_id: self.connection_id,
            scramble: &scramble,
            collation: DEFAULT_COLLATION,
            plugin: DEFAULT_PLUGIN.name(),
            capabilities: offered,
        };
        greeting.write(self.writer.begin());
        self.writer.finish();
        self.writer.flush(self.stream).await?;
        self.reader.set_sequence(1);
        let mut payload = self.reader.read(self.stream).await?;
        if HandshakeResponse::is_tls_request(payload) {
            let Some(acceptor) = self.tls else {
                return Err(Failure::Refused(MysqlError::new(
                    mysql_error::ER_HANDSHAKE_ERROR,
                    "Bad handshake: this server does not offer TLS; connect without it (--ssl-mode=DISABLED)",
                )));
            };
            let early = self.reader.take_buffered();
            let agreed = self.stream.upgrade(acceptor, early).await.map_err(Failure::Tls)?;
            self.transport = Some(transport(agreed));
            payload = self.reader.read(self.stream).await?;
        }
        let mut response = HandshakeResponse::parse(payload)?;
        self.writer.follow(self.reader);
        response.capabilities &= offered;
        self.compression = response.compression();
        if self.compression.is_none() && !self.domain.allows_compression("uncompressed") {
            return Err(Failure::Refused(MysqlError::new(
                mysql_error::ER_WRONG_COMPRESSION_ALGORITHM_CLIENT,
                "Invalid compression algorithm 'uncompressed'.",
            )));
        }
        let account = self.authenticate(&response, scramble).await?;
        Ok((response.capabilities, self.client_info(response, &account)?))
    }

    /// What clients are told the server can do.
    fn offered(&self) -> CapabilityFlags {
        let mut offered = server_capabilities();
        offered.set(CapabilityFlags::CLIENT_SSL, self.tls.is_some());
        offered.set(CapabilityFlags::CLIENT_COMPRESS, self.domain.allows_compression(Algorithm::Zlib.name()));
        offered.set(CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM, self.domain.allows_compression(Algorithm::Zstd.name()));
        offered
    }

    /// COM_CHANGE_USER: the client always has to answer a fresh scramble, in the plugin of the account.
    pub async fn authenticate_changed(&mut self, mut response: HandshakeResponse) -> Result<ClientInfo, Failure> {
        let scramble = auth::new_scramble();
        if !response.auth_response.is_empty() {
            // Its answer was made for a scramble that is used up: any plugin but the account's own is asked for again.
            response.plugin = Some(String::new());
        }
        let account = self.authenticate(&response, scramble).await?;
        self.client_info(response, &account)
    }

    fn client_info(&self, response: HandshakeResponse, account: &Account) -> Result<ClientInfo, Failure> {
        let password_expired = self.domain.has_expired_password(account);
        if password_expired && !response.capabilities.contains(CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS) {
            return Err(Failure::Refused(MysqlError::new(
                mysql_error::ER_MUST_CHANGE_PASSWORD_LOGIN,
                "Your password has expired. To log in you must change it using a client that supports expired passwords.",
            )));
        }
        Ok(ClientInfo {
            user: account.user.clone(),
            login: response.user,
            password_expired,
            account_host: account.host.clone(),
            client_host: self.peer.to_string(),
            database: response.database,
            collation: response.collation,
            found_rows: response.capabilities.contains(CapabilityFlags::CLIENT_FOUND_ROWS),
            interactive: response.capabilities.contains(CapabilityFlags::CLIENT_INTERACTIVE),
            multi_statements: response.capabilities.contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS),
            local_files: response.capabilities.contains(CapabilityFlags::CLIENT_LOCAL_FILES),
            compression: self.compression.map(|agreed| (agreed.algorithm.name(), agreed.level)),
            attributes: response.attributes,
            transport: self.transport.clone(),
        })
    }

    /// Finds the account `response` names and has the client prove that it may use it.
    pub async fn authenticate(&mut self, response: &HandshakeResponse, scramble: [u8; SCRAMBLE_LEN]) -> Result<Arc<Account>, Failure> {
        if self.transport.is_none() && self.domain.requires_secure_transport() {
            return Err(Failure::Refused(MysqlError::new(
                mysql_error::ER_SECURE_TRANSPORT_REQUIRED,
                "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
            )));
        }
        let host = self.peer.to_string();
        let denied = |with_password: bool| {
            let using = if with_password { "YES" } else { "NO" };
            Failure::Refused(MysqlError::new(
                mysql_error::ER_ACCESS_DENIED_ERROR,
                format!("Access denied for user '{}'@'{host}' (using password: {using})", response.user),
            ))
        };
        let Some(account) = self.domain.account(&response.user, &host) else {
            self.slow_down().await;
            return Err(denied(!response.auth_response.is_empty()));
        };
        let may_be_open = self.allow_empty_root_password || self.peer.to_canonical().is_loopback();
        if account.user == "root" && account.auth_string.is_empty() && !may_be_open {
            tracing::warn!(
                peer = %self.peer,
                "root has no password and may connect over loopback only; give it one (ALTER USER root IDENTIFIED BY '…'), or set security.allow-empty-root-password"
            );
            return Err(denied(!response.auth_response.is_empty()));
        }
        // Before the password is asked for: it shall not travel on a connection that the account does not allow.
        if !account.require.is_met_by(self.transport.as_ref()) {
            return Err(denied(!response.auth_response.is_empty()));
        }
        let plugin = Plugin::from_name(&account.plugin).unwrap_or(DEFAULT_PLUGIN);
        let (proof, scramble) = self.proof(response, plugin, &account, scramble).await?;
        let proved = match plugin {
            Plugin::Native => native::verify(&scramble, &proof, &account.auth_string),
            Plugin::CachingSha2 => self.verify_sha2(&account, &proof, &scramble).await?,
        };
        self.domain.admit_login(&account).map_err(Failure::Refused)?;
        if !proved {
            self.slow_down().await;
            self.domain.login_failed(&account).map_err(Failure::Refused)?;
            return Err(denied(!proof.is_empty()));
        }
        self.throttle.succeeded(self.peer);
        self.domain.logins().succeeded(&account);
        if account.locked {
            return Err(Failure::Refused(MysqlError::new(
                mysql_error::ER_ACCOUNT_HAS_BEEN_LOCKED,
                format!("Access denied for user '{}'@'{host}'. Account is locked.", response.user),
            )));
        }
        Ok(account)
    }

    /// A login failed: its answer waits.
    async fn slow_down(&self) {
        tokio::time::sleep(self.throttle.failed(self.peer, Instant::now())).await;
    }

    /// The client's answer to a scramble in the account's plugin, asking again when it used another.
    async fn proof(
        &mut self,
        response: &HandshakeResponse,
        plugin: Plugin,
        account: &Account,
        scramble: [u8; SCRAMBLE_LEN],
    ) -> Result<(Vec<u8>, [u8; SCRAMBLE_LEN]), Failure> {
        let used = response.plugin.as_deref().map_or(Some(DEFAULT_PLUGIN), Plugin::from_name);
        let no_password = account.auth_string.is_empty() && response.auth_response.is_empty();
        let can_switch = response.capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH);
        if used == Some(plugin) || no_password || !can_switch {
            return Ok((response.auth_response.clone(), scramble));
        }
        let scramble = auth::new_scramble();
        write_auth_switch(self.writer.begin(), plugin.name(), &scramble);
        self.writer.finish();
        Ok((self.ask().await?, scramble))
    }

    /// Sends what is waiting and returns the client's next packet.
    async fn ask(&mut self) -> Result<Vec<u8>, Failure> {
        self.writer.flush(self.stream).await?;
        // Sequence numbers count the packets of both directions.
        self.reader.follow(self.writer);
        let answer = self.reader.read(self.stream).await?.to_vec();
        self.writer.follow(self.reader);
        Ok(answer)
    }

    async fn verify_sha2(&mut self, account: &Account, proof: &[u8], scramble: &[u8; SCRAMBLE_LEN]) -> Result<bool, Failure> {
        if account.auth_string.is_empty() || proof.is_empty() {
            return Ok(account.auth_string.is_empty() && matches!(proof, [] | [0]));
        }
        if let Some(digest) = self.digests.get(account) {
            if !digest.verify(scramble, proof) {
                return Ok(false);
            }
            write_auth_more(self.writer.begin(), &[caching_sha2::FAST_AUTH_SUCCESS]);
            self.writer.finish();
            return Ok(true);
        }
        write_auth_more(self.writer.begin(), &[caching_sha2::FULL_AUTH]);
        self.writer.finish();
        let mut answer = self.ask().await?;
        if self.transport.is_some() {
            // What travels is encrypted: the password itself, ended by NUL.
            let password = answer.strip_suffix(&[0]).map(<[u8]>::to_vec);
            return self.verify_password(account, move || password).await;
        }
        if answer == [caching_sha2::REQUEST_PUBLIC_KEY] {
            let pem = off_worker(caching_sha2::public_key_pem).await?;
            write_auth_more(self.writer.begin(), pem.as_bytes());
            self.writer.finish();
            answer = self.ask().await?;
        }
        let scramble = *scramble;
        self.verify_password(account, move || caching_sha2::decrypt_password(&answer, &scramble)).await
    }

    /// Whether a password that was sent is the account's; its digest is kept if so.
    async fn verify_password(
        &mut self,
        account: &Account,
        password: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<bool, Failure> {
        let stored = account.auth_string.clone();
        let password = off_worker(move || password().filter(|password| caching_sha2::verify_password(password, &stored))).await?;
        if let Some(password) = &password {
            self.digests.put(account, password);
        }
        Ok(password.is_some())
    }
}

/// TLS in the words of sessions.
fn transport(agreed: TlsSession) -> Transport {
    let certificate = agreed.certificate.map(|names| Certificate { subject: names.subject, issuer: names.issuer });
    Transport { version: agreed.version, cipher: agreed.cipher, certificate }
}

/// Runs slow cryptography where it does not hold up other connections.
async fn off_worker<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Failure::Protocol(Error::Closed))
}
