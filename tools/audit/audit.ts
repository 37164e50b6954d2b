import pg from 'pg';
import type { Config } from '#config';
import { findPrimary } from '#platform/db/servers.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { connect, FAIL_FAST } from '#platform/redis/connection.ts';
import { openChain } from '#platform/solana/solana.ts';
import { openStorage } from '#platform/storage/open.ts';
import { type AuditContext, type Check, type Differences, type Scope, setMomentSql } from './check.ts';

/** Default scope of an audit. */
export const DEFAULT_SCOPE: Scope = { days: 8, epochs: 3, rounds: 20, sample: 500, all: false };

/** The result of a check. */
export interface Result extends Differences {
  readonly check: Check;
  readonly ms: number;
  /** Error message of a check that could not be completed; null when the check was completed. */
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
 * SQL that configures the database session. The checks read whole tables, for which a sequential scan is ten times as fast as an index scan or one
 * lookup per row. Therefore these settings make the planner avoid index scans of large tables and nested loops.
 * A statement about large tables must not need a nested loop: PostgreSQL would add a huge cost for the loop, and could then no longer distinguish
 * good plans from bad plans. Two rules prevent nested loops:
 * - a statement calls `unnest` in its column list, not in `from`;
 * - a statement writes a value that is equal for all rows (for example a day) as a literal.
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

/** Runs one check. When the check throws, the result has the error message as `failure`. */
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
 * Runs checks one after the other, read-only. When a system (for example Redis) is unavailable, only the checks that need this system fail.
 * The checks that read only the database run first. Each of them has its own transaction and snapshot, because one transaction for all checks would
 * run for a long time and delay the vacuuming of tables. The `live` checks run afterwards, without a snapshot.
 */
export async function runChecks(config: Config, checks: readonly Check[], options: Options = {}): Promise<Result[]> {
  const { scope = DEFAULT_SCOPE, statementMs = STATEMENT_MS, recheck = RECHECK, onStart = () => undefined, onResult = () => undefined } = options;
  const client = new pg.Client({
    connectionString: await findPrimary(config.database.url).catch(() => config.database.url),
    application_name: 'coinop-audit',
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
  });
  // Ignores the error event of a lost connection, because the next check fails and its result reports the lost connection.
  client.on('error', () => undefined);
  const redis = connect(config.redis.target, {
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
  // Sends a query only if the connection is open, because a query on a connection that was never opened would wait forever.
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
