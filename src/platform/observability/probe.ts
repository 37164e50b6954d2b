import pg from 'pg';
import { type App, perApp } from '#platform/app.ts';
import { type MigrationState, readMigrationState } from '#platform/db/applied-migrations.ts';
import { primaryClient } from '#platform/db/pipelined-client.ts';
import { serverUrls } from '#platform/db/servers.ts';
import { pooled } from '#platform/db/sql.ts';
import { FAIL_FAST, openRedis } from '#platform/redis/connection.ts';

/** Timeout of one dependency check, ms. */
const TIMEOUT_MS = 1_000;

/** Checks the dependencies of a process on connections that no request and no job uses. */
interface Probe extends AsyncDisposable {
  /** Compares the migrations of this release with those of the database. @throws when PostgreSQL does not answer within a second */
  readMigrationState(): Promise<MigrationState>;
  /** @throws when Redis does not answer within a second */
  ping(): Promise<void>;
}

function openProbe({ config, log }: App): Probe {
  // A pool of one connection, because a pool replaces a lost connection. The connection stays open, so that a check needs no free connection slot of
  // the server.
  const { url } = config.database;
  const [connectionString] = serverUrls(url);
  const pool = new pg.Pool({
    connectionString,
    Client: primaryClient(url),
    max: 1,
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: TIMEOUT_MS,
    statement_timeout: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: 'coinop-health',
  });
  pool.on('error', (err) => log.debug({ err }, 'the connection of the health checks to PostgreSQL was lost; the next check opens another one'));
  const db = pooled(() => Promise.resolve(pool));
  // With the offline queue, the first check waits for the connection.
  const redis = openRedis(config, log, { ...FAIL_FAST, enableOfflineQueue: true, commandTimeout: TIMEOUT_MS });
  return {
    readMigrationState: () => readMigrationState(db),
    ping: async () => void (await redis.ping()),
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await pool.end();
    },
  };
}

const probe = perApp(openProbe);

/** Returns the probe of this application. */
export const probeOf = (app: App): Probe => app.state(probe);
