import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** Tables that a confirmation rests on: what is inserted into them may find that its commit fails. */
const COMMITTED = ['plays', 'scores', 'chat_messages', 'entries', 'tickets', 'claims', 'clips', 'sessions', 'webhook_deliveries', 'outbox'];

/** Has the database ask at every commit whether the connection is lost right there: never, until `breakCommits`. */
export const prepareCommits = (url: string): Promise<void> =>
  connected(url, async (db) => {
    await db.query(`
      create table chaos_commits (share float8 not null);
      insert into chaos_commits values (0);
      create function chaos_commit() returns trigger language plpgsql as $$
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

/** From now on this share of the commits fails, and their connections are lost with them. */
export const breakCommits = (url: string, share: number): Promise<void> =>
  connected(url, async (db) => void (await db.query('update chaos_commits set share = $1', [share])));

/** Keeps everybody from a table for a while, and cuts the connections that wait for it by then: whatever was to come after, does not. */
export const stall = (url: string, table: string, forMs: number): Promise<void> =>
  connected(url, async (db) => {
    await db.query(`begin; set local lock_timeout = '2s'; lock table ${table} in access exclusive mode`);
    await sleep(forMs);
    await db.query('select pg_terminate_backend(pid) from pg_locks where relation = $1::regclass and not granted', [table]);
    await db.query('rollback');
  });

/** Cuts every connection. */
export const cutPostgres = (url: string): Promise<void> =>
  connected(
    url,
    async (db) =>
      void (await db.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'`,
      )),
  );

async function connected(connectionString: string, work: (db: pg.Client) => Promise<void>): Promise<void> {
  const db = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000 });
  db.on('error', () => undefined);
  try {
    await db.connect();
    await work(db);
  } finally {
    await db.end().catch(() => undefined);
  }
}
