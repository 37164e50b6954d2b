import { Redis } from 'ioredis';
import pg from 'pg';
import type { Config } from '#config';
import type { Queryable } from '#platform/db/sql.ts';
import { FAIL_FAST } from '#platform/redis/connection.ts';
import { openChain } from '#platform/solana/solana.ts';
import { openStorage } from '#platform/storage/open.ts';
import { type AuditContext, type Check, type Differences, type Scope, setMomentSql } from './check.ts';

/** Default scope of an audit. */
export const DEFAULT_SCOPE: Scope = { days: 8, epochs: 3, rounds: 20, sample: 500, all: false };

/** The result of a check. */
export interface Result extends Differences {
  readonly check: Check;
  readonly ms: number;
  /** Error that kept the check from running; null when it ran. */
  readonly failure: string | null;
}

export interface Options {
  readonly scope?: Scope;
  /** Timeout per SQL statement, ms. */
  readonly statementMs?: number;
  readonly recheck?: AuditContext['recheck'];
  /** Called before each check. */
  readonly onStart?: (check: Check) => void;
  /** Called after each check. */
  readonly onResult?: (result: Result) => void;
}

const RECHECK: AuditContext['recheck'] = { attempts: 6, intervalMs: 2_000 };
const STATEMENT_MS = 120_000;
const CONNECT_MS = 5_000;
const COMMAND_MS = 10_000;
/**
 * Settings of the database session. The checks read tables from beginning to end: a scan along an index of a large table, or a lookup per
 * row, takes ten times as long, and the planner would choose it with the costs meant for short statements. So no statement about large
 * tables may need a nested loop: the planner's penalty for one would hide all other costs. Lists are unnested by functions in the column
 * list, and a value that is the same for all rows (a day, a bucket) is a literal.
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

/** Runs one check. An error becomes the `failure` of its result. */
async function runCheck(check: Check, audit: AuditContext, ready: Promise<unknown>): Promise<Result> {
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
 * Runs checks one after the other; read-only. First come the checks of the database alone: each reads one snapshot, in a transaction of
 * its own, because a transaction keeps the database from vacuuming. Then come the checks that compare the database with Redis, the chain
 * or the storage.
 * A dependency that is down fails only the checks that need it.
 */
export async function runChecks(config: Config, checks: readonly Check[], options: Options = {}): Promise<Result[]> {
  const { scope = DEFAULT_SCOPE, statementMs = STATEMENT_MS, recheck = RECHECK, onStart = () => undefined, onResult = () => undefined } = options;
  const client = new pg.Client({
    connectionString: config.database.url,
    application_name: 'coinop-audit',
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
  });
  // The next check reports a lost connection.
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
  const audit: AuditContext = { config, scope, db: queryable(client), redis, chain: openChain(config), storage, recheck };
  const results: Result[] = [];
  const add = (result: Result) => {
    results.push(result);
    onResult(result);
  };
  const connected = client.connect().then(() => client.query(SESSION));
  const isOpen = await connected.then(
    () => true,
    () => false,
  );
  // A query on a connection that never opened would wait forever.
  const run = async (text: string) => isOpen && (await client.query(text).catch(() => undefined));
  try {
    for (const check of checks.filter(({ live }) => !live)) {
      onStart(check);
      add(
        await runCheck(
          check,
          audit,
          connected.then(() => client.query(`begin isolation level repeatable read; ${setMomentSql(scope)}`)),
        ),
      );
      await run('rollback');
    }
    for (const check of checks.filter(({ live }) => live)) {
      onStart(check);
      add(await runCheck(check, audit, connected));
    }
    return results;
  } finally {
    redis.disconnect();
    storage.close();
    if (isOpen) await client.end().catch(() => undefined);
  }
}
