import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** Reads the database of a system whose database may be down for a while. */
export class Database {
  readonly #pool: pg.Pool;

  constructor(connectionString: string) {
    this.#pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: 5_000, options: '-c application_name=chaos' });
    this.#pool.on('error', () => undefined);
  }

  async rows<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(sql, [...values])).rows;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** An event as the record has it: what every subscriber must have been told. */
export interface Told {
  readonly publication: number;
  readonly type: string;
  readonly wallet: string | null;
  readonly payload: { readonly [field: string]: unknown; readonly updates?: readonly { readonly wallet: string; readonly scoreId: string }[] };
}

const EVERY_MS = 2_000;

/** Keeps all events that were published: the outbox forgets them after an hour. */
export class Outbox {
  readonly events: Told[] = [];
  readonly #record: Database;
  readonly #reading: Promise<void>;
  #over = false;

  constructor(record: Database) {
    this.#record = record;
    this.#reading = this.#readOn();
  }

  /** Reads what is left, and stops. */
  async finish(): Promise<readonly Told[]> {
    this.#over = true;
    await this.#reading;
    await this.#read();
    return this.events;
  }

  async #readOn(): Promise<void> {
    while (!this.#over) {
      await this.#read().catch(() => undefined);
      for (let waited = 0; waited < EVERY_MS && !this.#over; waited += 100) await sleep(100);
    }
  }

  // Publications are given one after the other, under a lock: none comes later that is smaller.
  async #read(): Promise<void> {
    const after = this.events.at(-1)?.publication ?? 0;
    this.events.push(
      ...(await this.#record.rows<Told & pg.QueryResultRow>(
        'select publication::float8 as publication, type, wallet, payload from outbox where publication > $1 order by publication',
        [after],
      )),
    );
  }
}
