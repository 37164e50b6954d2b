import { type Check, type Finding, ok, warning, wrong, wrongInProduction } from '#doctor/check.ts';
import { readMigrationState } from '#platform/db/applied-migrations.ts';
import { findStandby, readServerRole, serverUrls } from '#platform/db/servers.ts';
import { statement } from '#platform/db/sql.ts';

const MIN_VERSION = 140_000;

const readServer = statement<{ version: number; isStandby: boolean; isReadOnly: boolean; synchronousCommit: string; maxConnections: number }>(
  'doctor_server',
  `select current_setting('server_version_num')::int as version, pg_is_in_recovery() as "isStandby",
     current_setting('transaction_read_only') = 'on' as "isReadOnly", current_setting('synchronous_commit') as "synchronousCommit",
     current_setting('max_connections')::int as "maxConnections"`,
);
/** Tables into which the service inserts no rows: only src/migrate.ts and functions of the owner do. */
const ONLY_READ = ['app_clock', 'game_record_erasures', 'migrations', 'storage_totals', 'storage_usage'];

/**
 * Selects the number of tables, and those that the role may not read or insert into. Updating and deleting are not checked, because a deployment may
 * refuse them for tables whose rows never change.
 */
const readRights = statement<{ tables: number; refused: string[] }>(
  'doctor_rights',
  `select count(*)::int as tables, coalesce(array_agg(c.relname::text order by c.relname) filter (where not (
     has_schema_privilege(c.relnamespace, 'usage') and has_table_privilege(c.oid, 'select')
     and (has_table_privilege(c.oid, 'insert') or c.relname = any($1::text[])))), '{}') as refused
   from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
);

/** Maximum names that a finding lists. */
const MAX_NAMES = 3;
const listed = (names: readonly string[]): string => names.slice(0, MAX_NAMES).join(', ') + (names.length > MAX_NAMES ? ', …' : '');

/** Checks PostgreSQL: its version, whether it accepts writes, and the rights of the role. */
export const postgresql: Check = {
  name: 'postgresql',
  settings: ['DATABASE_URL', 'DATABASE_POOL'],
  remedy: 'Start PostgreSQL, or correct DATABASE_URL.',
  async run(app) {
    const { db, config } = app;
    const [[server], [rights]] = await Promise.all([db.query(readServer), db.query(readRights, [ONLY_READ])]);
    if (!server || !rights) throw new Error('PostgreSQL returned no settings');
    const { version, maxConnections } = server;
    const findings: Finding[] = [];
    if (version < MIN_VERSION) findings.push(wrong(`PostgreSQL has the version ${version}`, 'Use PostgreSQL 14 or newer.'));
    if (server.isStandby || server.isReadOnly)
      findings.push(wrong('DATABASE_URL leads to a server that refuses writes', 'Set DATABASE_URL to the primary.'));
    if (rights.refused.length > 0) {
      const { refused } = rights;
      const what = `the role of DATABASE_URL may not read or insert into ${refused.length} of ${rights.tables} tables (${listed(refused)})`;
      findings.push(wrong(what, 'Grant the rights to the role, or use the role that owns the tables.'));
    }
    if (server.synchronousCommit === 'off')
      findings.push(wrongInProduction(app, 'synchronous_commit is off, so a crash loses committed payments', 'Set synchronous_commit to on.'));
    if (maxConnections < 2 * config.database.pool) {
      const what = `PostgreSQL accepts ${maxConnections} connections, and each process uses up to DATABASE_POOL = ${config.database.pool}`;
      findings.push(warning(what, 'Raise max_connections to the number of processes × (DATABASE_POOL + 1), or lower DATABASE_POOL.'));
    }
    return findings.length > 0
      ? findings
      : [
          ok(
            `PostgreSQL ${Math.floor(version / 10_000)} accepts writes; ${rights.tables === 0 ? 'it has no tables yet' : `the role may use all ${rights.tables} tables`}`,
          ),
        ];
  },
};

/** Checks that each server of DATABASE_URL answers, if there are several, and that DATABASE_READ_URL leads to a standby. */
export const servers: Check = {
  name: 'postgresql-servers',
  settings: ['DATABASE_URL', 'DATABASE_READ_URL'],
  remedy: 'Start the servers, or correct DATABASE_URL and DATABASE_READ_URL.',
  async run({ config: { database } }) {
    const urls = serverUrls(database.url);
    const silent = urls.length > 1 ? (await Promise.allSettled(urls.map(readServerRole))).filter(({ status }) => status === 'rejected').length : 0;
    const findings: Finding[] = [];
    if (silent > 0)
      findings.push(warning(`${silent} of ${urls.length} servers of DATABASE_URL do not answer`, 'Start them, so that a failover is possible.'));
    const { readUrl } = database;
    const isWithoutStandby = readUrl !== null && (await findStandby(readUrl).catch(() => null)) === null;
    if (isWithoutStandby)
      findings.push(
        warning('DATABASE_READ_URL leads to no standby, so the primary answers all reads', 'Start the standby, or correct DATABASE_READ_URL.'),
      );
    return findings.length > 0 ? findings : [ok(readUrl === null ? 'no standby is configured for reads' : 'the standby for reads answers')];
  },
};

/** Checks whether the database has exactly the migrations of this release. */
export const migrations: Check = {
  name: 'migrations',
  settings: ['DATABASE_URL'],
  remedy: 'Start PostgreSQL, or correct DATABASE_URL.',
  async run({ db }) {
    const { applied, missing, unknown } = await readMigrationState(db);
    const findings: Finding[] = [];
    if (missing.length > 0) findings.push(wrong(`the database lacks ${missing.length} migrations (${listed(missing)})`, 'Run: node src/migrate.ts'));
    if (unknown.length > 0) {
      findings.push(
        warning(`the database has migrations that this release does not know (${listed(unknown)})`, 'Run this command of the newest release.'),
      );
    }
    return findings.length > 0 ? findings : [ok(`the database has all ${applied} migrations`)];
  },
};
