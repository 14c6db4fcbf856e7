//! Accounts, roles, privileges.

use super::{Parser, Result};
use crate::{
    ast::{
        AccountName, AlterUserStmt, AuthOption, CreateRoleStmt, CreateUserStmt, DropUserStmt, GrantLevel, GrantRoleStmt, GrantStmt, Ident,
        ObjectType, PasswordOption, Privilege, Require, RevokeRoleStmt, RevokeStmt, RoleSet, SetDefaultRoleStmt, SetPasswordStmt,
        SetRoleStmt, Stmt, TableName, UserOptions, UserSpec, UserWithAuth,
    },
    lexer::{Kw, Tok},
};

const LIMITS: &[&str] = &["MAX_QUERIES_PER_HOUR", "MAX_UPDATES_PER_HOUR", "MAX_CONNECTIONS_PER_HOUR", "MAX_USER_CONNECTIONS"];

/// What stands before ON, TO or FROM in GRANT and REVOKE: privileges or roles, told apart by what follows.
struct Granted {
    privileges: Vec<Privilege>,
    roles: Vec<AccountName>,
}

/// One entry of that list.
enum Entry {
    Role(AccountName),
    /// A privilege; and the name of the role it would be, when it is one word that can be a name.
    Words(Privilege, Option<String>),
}

impl Parser<'_> {
    /// `user[@host]`.
    pub(super) fn account_name(&mut self) -> Result<AccountName> {
        let user = self.ident_or_text()?.into_string();
        let host = match self.tok.tok {
            // `root@localhost` lexes as a name and a variable.
            Tok::UserVar => {
                let token = self.bump();
                String::from_utf8(self.span(token)[1..].to_vec()).map_err(|_| self.syntax())?
            }
            Tok::At => {
                self.bump();
                self.ident_or_text()?.into_string()
            }
            _ => "%".to_owned(),
        };
        Ok(AccountName { user, host: host.to_ascii_lowercase() })
    }

    /// An account, CURRENT_USER, CURRENT_USER() or USER().
    pub(super) fn user_spec(&mut self) -> Result<UserSpec> {
        if self.eat(Kw::CURRENT_USER) || (self.at(Kw::USER) && self.peek_is(Tok::LParen) && self.eat(Kw::USER)) {
            if self.eat(Tok::LParen) {
                self.expect(Tok::RParen)?;
            }
            return Ok(UserSpec::Current);
        }
        Ok(UserSpec::Account(self.account_name()?))
    }

    fn user_list(&mut self) -> Result<Vec<UserSpec>> {
        self.comma_list(Self::user_spec)
    }

    fn role_list(&mut self) -> Result<Vec<AccountName>> {
        self.comma_list(Self::account_name)
    }

    fn user_with_auth(&mut self) -> Result<UserWithAuth> {
        let user = self.user_spec()?;
        let mut auth = None;
        if self.eat(Kw::IDENTIFIED) {
            auth = Some(self.identified()?);
        } else if self.at_word("DISCARD") {
            self.bump();
            self.expect(Kw::OLD)?;
            self.expect(Kw::PASSWORD)?;
            auth = Some(AuthOption { discard_old: true, ..AuthOption::default() });
        }
        Ok(UserWithAuth { user, auth })
    }

    /// `[WITH plugin] [BY … | AS …] [REPLACE …] [RETAIN CURRENT PASSWORD]`; IDENTIFIED is taken.
    fn identified(&mut self) -> Result<AuthOption> {
        let mut auth = AuthOption::default();
        if self.eat(Kw::WITH) {
            auth.plugin = Some(self.ident_or_text()?.into_string());
        } else if !self.at(Kw::BY) {
            return Err(self.syntax());
        }
        if self.eat(Kw::BY) {
            if self.eat(Kw::RANDOM) {
                self.expect(Kw::PASSWORD)?;
                auth.random_password = true;
            } else {
                auth.password = Some(self.text_literal()?);
            }
        } else if self.eat(Kw::AS) {
            auth.hash = Some(self.text_literal()?);
        }
        if self.eat(Kw::REPLACE) {
            auth.replace = Some(self.text_literal()?);
        }
        auth.retain_current = self.opt_retain()?;
        Ok(auth)
    }

    fn opt_retain(&mut self) -> Result<bool> {
        if !self.eat(Kw::RETAIN) {
            return Ok(false);
        }
        self.expect(Kw::CURRENT)?;
        self.expect(Kw::PASSWORD)?;
        Ok(true)
    }

    /// `CREATE USER …`; USER is the current token.
    pub(super) fn create_user(&mut self) -> Result<CreateUserStmt> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let users = self.comma_list(Self::user_with_auth)?;
        let mut default_roles = Vec::new();
        if self.eat(Kw::DEFAULT) {
            self.expect(Kw::ROLE)?;
            default_roles = self.role_list()?;
        }
        Ok(CreateUserStmt { if_not_exists, users, default_roles, options: self.user_options()? })
    }

    /// `ALTER USER …`; USER is the current token.
    pub(super) fn alter_user(&mut self) -> Result<AlterUserStmt> {
        self.bump();
        let if_exists = self.if_exists();
        let users = self.comma_list(Self::user_with_auth)?;
        let mut default_roles = None;
        if self.eat(Kw::DEFAULT) {
            self.expect(Kw::ROLE)?;
            default_roles = Some(self.role_set(false)?);
        }
        Ok(AlterUserStmt { if_exists, users, default_roles, options: self.user_options()? })
    }

    fn user_options(&mut self) -> Result<UserOptions> {
        let mut options = UserOptions::default();
        if self.eat(Kw::REQUIRE) {
            options.require = Some(self.require()?);
        }
        if self.eat(Kw::WITH) {
            while let Some(limit) = self.eat_words(LIMITS) {
                options.limits.push((limit, self.uint()?));
            }
            if options.limits.is_empty() {
                return Err(self.syntax());
            }
        }
        loop {
            match self.eat_any(&[Kw::PASSWORD, Kw::ACCOUNT, Kw::FAILED_LOGIN_ATTEMPTS, Kw::PASSWORD_LOCK_TIME]) {
                Some(Kw::PASSWORD) => {
                    let option = self.password_option()?;
                    options.password.push(option);
                }
                Some(Kw::ACCOUNT) => {
                    let lock = self.eat(Kw::LOCK);
                    if !lock {
                        self.expect(Kw::UNLOCK)?;
                    }
                    options.account_lock = Some(lock);
                }
                Some(Kw::FAILED_LOGIN_ATTEMPTS) => options.password.push(PasswordOption::FailedLoginAttempts(self.uint()?)),
                Some(_) => {
                    let time = if self.eat(Kw::UNBOUNDED) { None } else { Some(self.uint()?) };
                    options.password.push(PasswordOption::LockTime(time));
                }
                None => break,
            }
        }
        if self.eat(Kw::COMMENT) {
            options.comment = Some(self.text_literal()?);
        } else if self.eat(Kw::ATTRIBUTE) {
            options.attribute = Some(self.text_literal()?);
        }
        Ok(options)
    }

    fn require(&mut self) -> Result<Require> {
        match self.eat_any(&[Kw::NONE, Kw::SSL, Kw::X509]) {
            Some(Kw::NONE) => return Ok(Require::None),
            Some(Kw::SSL) => return Ok(Require::Ssl),
            Some(_) => return Ok(Require::X509),
            None => {}
        }
        let mut items = Vec::new();
        while let Some(name) = self.eat_words(&["SUBJECT", "ISSUER", "CIPHER"]) {
            items.push((name, self.text_literal()?));
            self.eat(Kw::AND);
        }
        if items.is_empty() { Err(self.syntax()) } else { Ok(Require::Items(items)) }
    }

    /// What follows PASSWORD.
    fn password_option(&mut self) -> Result<PasswordOption> {
        match self.eat_any(&[Kw::EXPIRE, Kw::HISTORY, Kw::REUSE, Kw::REQUIRE]) {
            Some(Kw::EXPIRE) => Ok(match self.eat_any(&[Kw::DEFAULT, Kw::NEVER, Kw::INTERVAL]) {
                Some(Kw::DEFAULT) => PasswordOption::ExpireDefault,
                Some(Kw::NEVER) => PasswordOption::ExpireNever,
                Some(_) => PasswordOption::ExpireDays(self.days()?),
                None => PasswordOption::Expire,
            }),
            Some(Kw::HISTORY) => Ok(PasswordOption::History(if self.eat(Kw::DEFAULT) { None } else { Some(self.uint()?) })),
            Some(Kw::REUSE) => {
                self.expect(Kw::INTERVAL)?;
                Ok(PasswordOption::ReuseDays(if self.eat(Kw::DEFAULT) { None } else { Some(self.days()?) }))
            }
            Some(_) => {
                self.expect(Kw::CURRENT)?;
                Ok(PasswordOption::RequireCurrent(match self.eat_any(&[Kw::DEFAULT, Kw::OPTIONAL]) {
                    Some(Kw::DEFAULT) => None,
                    Some(_) => Some(false),
                    None => Some(true),
                }))
            }
            None => Err(self.syntax()),
        }
    }

    fn days(&mut self) -> Result<u64> {
        let days = self.uint()?;
        self.expect(Kw::DAY)?;
        Ok(days)
    }

    /// `DROP USER …`, `DROP ROLE …`; the word is the current token.
    pub(super) fn drop_user(&mut self) -> Result<DropUserStmt> {
        self.bump();
        let if_exists = self.if_exists();
        Ok(DropUserStmt { if_exists, users: self.user_list()? })
    }

    /// `CREATE ROLE …`; ROLE is the current token.
    pub(super) fn create_role(&mut self) -> Result<CreateRoleStmt> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        Ok(CreateRoleStmt { if_not_exists, roles: self.role_list()? })
    }

    /// `SET PASSWORD …`; PASSWORD is the current token.
    pub(super) fn set_password(&mut self) -> Result<Stmt> {
        self.bump();
        let user = if self.eat(Kw::FOR) { Some(self.user_spec()?) } else { None };
        let password = if self.eat(Kw::TO) {
            self.expect(Kw::RANDOM)?;
            None
        } else {
            if !self.eat(Tok::Eq) {
                self.expect(Tok::Assign)?;
            }
            Some(self.text_literal()?)
        };
        let replace = if self.eat(Kw::REPLACE) { Some(self.text_literal()?) } else { None };
        Ok(Stmt::SetPassword(SetPasswordStmt { user, password, replace, retain_current: self.opt_retain()? }))
    }

    /// `SET ROLE …`; ROLE is the current token.
    pub(super) fn set_role(&mut self) -> Result<Stmt> {
        self.bump();
        Ok(Stmt::SetRole(SetRoleStmt { roles: self.role_set(true)? }))
    }

    /// `SET DEFAULT ROLE … TO …`; DEFAULT is the current token.
    pub(super) fn set_default_role(&mut self) -> Result<Stmt> {
        self.bump();
        self.expect(Kw::ROLE)?;
        let roles = self.role_set(false)?;
        self.expect(Kw::TO)?;
        Ok(Stmt::SetDefaultRole(SetDefaultRoleStmt { roles, users: self.user_list()? }))
    }

    fn role_set(&mut self, in_set_role: bool) -> Result<RoleSet> {
        if self.eat(Kw::NONE) {
            return Ok(RoleSet::None);
        }
        if in_set_role && self.eat(Kw::DEFAULT) {
            return Ok(RoleSet::Default);
        }
        if self.eat(Kw::ALL) {
            if in_set_role && self.eat(Kw::EXCEPT) {
                return Ok(RoleSet::AllExcept(self.role_list()?));
            }
            return Ok(RoleSet::All);
        }
        Ok(RoleSet::Roles(self.role_list()?))
    }

    /// `GRANT …`.
    pub(super) fn grant(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        if self.at(Kw::PROXY) && self.peek_is(Kw::ON) {
            return self.unsupported("GRANT PROXY", start);
        }
        let granted = self.granted()?;
        if !self.eat(Kw::ON) {
            self.expect(Kw::TO)?;
            let users = self.user_list()?;
            let admin_option = self.eat(Kw::WITH);
            if admin_option {
                self.expect(Kw::ADMIN)?;
                self.expect(Kw::OPTION)?;
            }
            return Ok(Stmt::GrantRole(GrantRoleStmt { roles: granted.roles, users, admin_option }));
        }
        let (object_type, level) = self.grant_object()?;
        self.expect(Kw::TO)?;
        let users = self.comma_list(Self::user_with_auth)?;
        let mut grant_option = false;
        if self.eat(Kw::WITH) {
            self.expect(Kw::GRANT)?;
            self.expect(Kw::OPTION)?;
            grant_option = true;
        }
        let grant_as = if self.eat(Kw::AS) { Some(self.user_spec()?) } else { None };
        let privileges = granted.privileges;
        Ok(Stmt::Grant(Box::new(GrantStmt { privileges, object_type, level, users, grant_option, grant_as })))
    }

    /// `REVOKE …`.
    pub(super) fn revoke(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        let if_exists = self.if_exists();
        if self.at(Kw::PROXY) && self.peek_is(Kw::ON) {
            return self.unsupported("REVOKE PROXY", start);
        }
        let granted = self.granted()?;
        let everything = matches!(&granted.privileges[..], [all, grant] if all.name == "ALL PRIVILEGES" && grant.name == "GRANT OPTION");
        let object = if self.eat(Kw::ON) { Some(self.grant_object()?) } else { None };
        self.expect(Kw::FROM)?;
        let users = self.user_list()?;
        let ignore_unknown_user = self.eat(Kw::IGNORE);
        if ignore_unknown_user {
            self.expect(Kw::UNKNOWN)?;
            self.expect(Kw::USER)?;
        }
        let (object_type, level) = match object {
            Some(object) => object,
            None if everything => (None, GrantLevel::Everything),
            None => return Ok(Stmt::RevokeRole(RevokeRoleStmt { if_exists, roles: granted.roles, users, ignore_unknown_user })),
        };
        let privileges = granted.privileges;
        Ok(Stmt::Revoke(Box::new(RevokeStmt { if_exists, privileges, object_type, level, users, ignore_unknown_user })))
    }

    /// A list of privileges or roles, followed by ON (privileges), TO or FROM (roles).
    fn granted(&mut self) -> Result<Granted> {
        let start = self.tok.start;
        let entries = self.comma_list(|p| {
            let hosted = p.at_ident() && matches!(p.peek(), Tok::At | Tok::UserVar);
            if hosted || matches!(p.tok.tok, Tok::Str | Tok::QuotedIdent) { Ok(Entry::Role(p.account_name()?)) } else { p.privilege() }
        })?;
        let mut granted = Granted { privileges: Vec::new(), roles: Vec::new() };
        let privileges = self.at(Kw::ON)
            || matches!(&entries[..], [Entry::Words(all, _), Entry::Words(grant, _)] if all.name == "ALL PRIVILEGES" && grant.name == "GRANT OPTION");
        for entry in entries {
            match entry {
                Entry::Words(privilege, _) if privileges => granted.privileges.push(privilege),
                Entry::Role(role) if !privileges => granted.roles.push(role),
                // A bare word is a role without a host.
                Entry::Words(privilege, Some(user)) if !privileges && privilege.columns.is_empty() => {
                    granted.roles.push(AccountName { user, host: "%".to_owned() });
                }
                _ => return Err(self.error_at(crate::ParseErrorKind::Syntax, start)),
            }
        }
        Ok(granted)
    }

    /// One or more words up to a comma, ON, TO, FROM or a column list.
    fn privilege(&mut self) -> Result<Entry> {
        let mut name = String::new();
        let mut role = None;
        while matches!(self.tok.tok, Tok::Ident | Tok::Kw(_)) && !matches!(self.tok.tok, Tok::Kw(Kw::ON | Kw::TO | Kw::FROM)) {
            let could_be_role = name.is_empty() && self.at_ident();
            let token = self.bump();
            role = if could_be_role { Some(self.make_ident(token)?.into_string()) } else { None };
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&String::from_utf8_lossy(self.span(token)).to_ascii_uppercase());
        }
        if name.is_empty() {
            return Err(self.syntax());
        }
        if name == "ALL" {
            name = "ALL PRIVILEGES".to_owned();
        }
        Ok(Entry::Words(Privilege { name, columns: self.opt_paren_idents()? }, role))
    }

    /// `[TABLE | FUNCTION | PROCEDURE] {* | *.* | db.* | [db.]t}`.
    fn grant_object(&mut self) -> Result<(Option<ObjectType>, GrantLevel)> {
        let object_type = self.eat_any(&[Kw::TABLE, Kw::FUNCTION, Kw::PROCEDURE]).map(|kw| match kw {
            Kw::TABLE => ObjectType::Table,
            Kw::FUNCTION => ObjectType::Function,
            _ => ObjectType::Procedure,
        });
        if self.eat(Tok::Star) {
            if !self.eat(Tok::Dot) {
                return Ok((object_type, GrantLevel::CurrentDatabase));
            }
            self.expect(Tok::Star)?;
            return Ok((object_type, GrantLevel::Global));
        }
        let first: Ident = self.ident()?;
        if !self.eat(Tok::Dot) {
            return Ok((object_type, GrantLevel::Table(TableName { schema: None, name: first })));
        }
        if self.eat(Tok::Star) {
            return Ok((object_type, GrantLevel::Database(first)));
        }
        Ok((object_type, GrantLevel::Table(TableName { schema: Some(first), name: self.ident_after_dot()? })))
    }
}
