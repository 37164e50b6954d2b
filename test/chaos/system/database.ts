import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type RecordedScore, readRecordedLine } from '#areas/arcade/events.ts';
import { primaryClient } from '#platform/db/pipelined-client.ts';
import { serverUrls } from '#platform/db/servers.ts';

/** Reads the database of the system. Connection errors do not end the process, because PostgreSQL may be down. */
export class Database {
  readonly #pool: pg.Pool;

  constructor(connectionString: string) {
    this.#pool = new pg.Pool({
      connectionString: serverUrls(connectionString)[0],
      Client: primaryClient(connectionString),
      max: 2,
      connectionTimeoutMillis: 5_000,
      options: '-c application_name=chaos',
    });
    this.#pool.on('error', () => undefined);
  }

  async rows<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(sql, [...values])).rows;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** A published event in the database. Every subscriber that may see it must receive it. */
export interface StoredEvent {
  readonly publication: number;
  readonly type: string;
  readonly wallet: string | null;
  readonly payload: { readonly [field: string]: unknown; readonly scores?: readonly string[] };
}

/** Returns the scores of an event of the type `score_recorded`. */
export const recordedScoresOf = ({ payload }: StoredEvent): RecordedScore[] => (payload.scores ?? []).map(readRecordedLine);

const POLL_MS = 2_000;

/** Collects all published events during the run, because the service deletes them from the outbox after an hour. */
export class OutboxReader {
  readonly events: StoredEvent[] = [];
  readonly #database: Database;
  readonly #reading: Promise<void>;
  #over = false;

  constructor(database: Database) {
    this.#database = database;
    this.#reading = this.#readOn();
  }

  /** Reads the remaining events and stops. */
  async finish(): Promise<readonly StoredEvent[]> {
    this.#over = true;
    await this.#reading;
    await this.#read();
    return this.events;
  }

  async #readOn(): Promise<void> {
    while (!this.#over) {
      await this.#read().catch(() => undefined);
      for (let waited = 0; waited < POLL_MS && !this.#over; waited += 100) await sleep(100);
    }
  }

  // The publisher assigns publication numbers under a lock in ascending order, so no smaller number appears later.
  async #read(): Promise<void> {
    const after = this.events.at(-1)?.publication ?? 0;
    this.events.push(
      ...(await this.#database.rows<StoredEvent & pg.QueryResultRow>(
        'select publication::float8 as publication, type, wallet, payload from outbox where publication > $1 order by publication',
        [after],
      )),
    );
  }
}
