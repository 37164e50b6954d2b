import { Redis } from 'ioredis';
import pg from 'pg';
import type { Config } from '#config';
import type { Queryable } from '#platform/db/sql.ts';
import { FAIL_FAST } from '#platform/redis/connection.ts';
import { openChain } from '#platform/solana/solana.ts';
import { openStorage } from '#platform/storage/open.ts';
import { type Audit, type Check, type Differences, noteMoment, type Scope } from './check.ts';

/** What an audit looks at by default. */
export const DEFAULT_SCOPE: Scope = { days: 8, epochs: 3, rounds: 20, sample: 500, all: false };

/** How a check ended. */
export interface Result extends Differences {
  readonly check: Check;
  readonly ms: number;
  /** Why it could not be made; null where it was. */
  readonly failure: string | null;
}

export interface Options {
  readonly scope?: Scope;
  /** How long one statement may take, ms. */
  readonly statementMs?: number;
  readonly patience?: Audit['patience'];
  /** Called with each check before it is made. */
  readonly onStart?: (check: Check) => void;
  /** Called with each result as it is there. */
  readonly onResult?: (result: Result) => void;
}

const PATIENCE: Audit['patience'] = { looks: 6, everyMs: 2_000 };
const STATEMENT_MS = 120_000;
const CONNECT_MS = 5_000;
const COMMAND_MS = 10_000;
/**
 * Memory for each sort and hash of a statement. Tables are read from the beginning to the end: what follows an index through a large one, or
 * looks up row by row, takes ten times as long, and is chosen where the costs are those of short statements. So no statement about large tables
 * may need a nested loop: its price would hide that of everything else. Lists are taken apart by functions in the list of columns, and what is
 * one row for all (a day, a bucket) is written in as a value.
 */
const SESSION = `
  set work_mem = '128MB'; set hash_mem_multiplier = 2; set jit = off; set random_page_cost = 8; set enable_nestloop = off;
  set max_parallel_workers_per_gather = 2; set default_transaction_read_only = on`;

const queryable = (client: pg.Client): Queryable => ({
  query: async <Row>({ text }: { text: string }, values: readonly unknown[] = []) =>
    (await client.query<Row & pg.QueryResultRow>({ text, values: [...values] })).rows,
});

const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
};

/** One check, whatever becomes of it. */
async function make(check: Check, audit: Audit, ready: Promise<unknown>): Promise<Result> {
  const begin = performance.now();
  const ended = (found: Differences, failure: string | null): Result => ({ check, ...found, failure, ms: Math.round(performance.now() - begin) });
  try {
    await ready;
    return ended(await check.run(audit), null);
  } catch (error) {
    return ended({ total: 0, listed: [] }, messageOf(error));
  }
}

/**
 * Makes checks, one after the other, and writes nothing. Each of those of the record sees it as of one moment: a transaction, which keeps the
 * database from cleaning up while it lasts, so each has its own. Then come those that look at it together with Redis, the chain and the storage.
 * A dependency that is down fails the checks that need it, and no others.
 */
export async function runChecks(config: Config, checks: readonly Check[], options: Options = {}): Promise<Result[]> {
  const { scope = DEFAULT_SCOPE, statementMs = STATEMENT_MS, patience = PATIENCE, onStart = () => undefined, onResult = () => undefined } = options;
  const client = new pg.Client({
    connectionString: config.database.url,
    application_name: 'coinop-audit',
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
  });
  // A lost connection is told by the check that needs it.
  client.on('error', () => undefined);
  const redis = new Redis(config.redis.url, {
    ...FAIL_FAST,
    enableOfflineQueue: true,
    retryStrategy: () => null,
    connectTimeout: CONNECT_MS,
    commandTimeout: COMMAND_MS,
  });
  redis.on('error', () => undefined);
  const storage = openStorage(config.storage);
  const audit: Audit = { config, scope, db: queryable(client), redis, chain: openChain(config), storage, patience };
  const results: Result[] = [];
  const take = (result: Result) => {
    results.push(result);
    onResult(result);
  };
  const connected = client.connect().then(() => client.query(SESSION));
  const isOpen = await connected.then(
    () => true,
    () => false,
  );
  // Of a connection that there never was, nothing would be answered.
  const tell = async (text: string) => isOpen && (await client.query(text).catch(() => undefined));
  try {
    for (const check of checks.filter(({ live }) => !live)) {
      onStart(check);
      take(
        await make(
          check,
          audit,
          connected.then(() => client.query(`begin isolation level repeatable read; ${noteMoment(scope)}`)),
        ),
      );
      await tell('rollback');
    }
    for (const check of checks.filter(({ live }) => live)) {
      onStart(check);
      take(await make(check, audit, connected));
    }
    return results;
  } finally {
    redis.disconnect();
    storage.close();
    if (isOpen) await client.end().catch(() => undefined);
  }
}
