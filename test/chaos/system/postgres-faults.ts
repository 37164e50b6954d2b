import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findPrimary } from '#platform/db/servers.ts';

/** Tables whose inserts precede a response to a client. A commit with such an insert may be made to fail. */
const COMMITTED = ['plays', 'scores', 'chat_messages', 'entries', 'tickets', 'claims', 'clips', 'sessions', 'webhook_deliveries', 'outbox'];

/** Installs triggers that may close the connection during a commit. They do nothing until `breakCommits`. */
export const prepareCommits = (url: string): Promise<void> =>
  connected(url, async (db) => {
    await db.query(`
      create table chaos_commits (share float8 not null);
      insert into chaos_commits values (0);
      create function chaos_commit() returns trigger language plpgsql security definer set search_path = public as $$
        begin
          if random() < (select share from chaos_commits) then
            perform pg_terminate_backend(pg_backend_pid());
            perform pg_sleep(1);
          end if;
          return null;
        end $$`);
    for (const table of COMMITTED) {
      await db.query(
        `create constraint trigger chaos_commit after insert on ${table} deferrable initially deferred for each row execute function chaos_commit()`,
      );
    }
  });

/** Sets the share (0 to 1) of commits at which the connection is closed. */
export const breakCommits = (url: string, share: number): Promise<void> =>
  connected(url, async (db) => void (await db.query('update chaos_commits set share = $1', [share])));

/** Locks a table for a time, then closes the connections that wait for the lock, so their transactions fail in the middle. */
export const lockTable = (url: string, table: string, forMs: number): Promise<void> =>
  connected(url, async (db) => {
    await db.query(`begin; set local lock_timeout = '2s'; lock table ${table} in access exclusive mode`);
    await sleep(forMs);
    await db.query('select pg_terminate_backend(pid) from pg_locks where relation = $1::regclass and not granted', [table]);
    await db.query('rollback');
  });

/** Closes every client connection. */
export const cutPostgres = (url: string): Promise<void> =>
  connected(
    url,
    async (db) =>
      void (await db.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'`,
      )),
  );

async function connected(url: string, work: (db: pg.Client) => Promise<void>): Promise<void> {
  const db = new pg.Client({ connectionString: await findPrimary(url), connectionTimeoutMillis: 2_000 });
  db.on('error', () => undefined);
  try {
    await db.connect();
    await work(db);
  } finally {
    await db.end().catch(() => undefined);
  }
}
