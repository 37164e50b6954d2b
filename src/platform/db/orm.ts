import { Migrator } from '@mikro-orm/migrations';
import { defineConfig, type EntityClass, type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Config } from '#config';
import { migrations } from './migrations/index.ts';
import { primaryClient } from './pipelined-client.ts';
import { serverUrls } from './servers.ts';

/**
 * Opens MikroORM. The first query opens a connection, so a process can start while the database is down.
 * @param config provides the database URL and the maximum number of connections of this process
 * @param entities the entities that the areas register
 * @param timeoutMs the maximum duration of one statement, ms
 */
export function openOrm(config: Config, entities: readonly (EntitySchema | EntityClass)[], timeoutMs: number): Promise<MikroORM> {
  const { url } = config.database;
  // MikroORM reads the role and the name of the database from this URL; `primaryClient` chooses the server.
  const [clientUrl = url] = serverUrls(url);
  return MikroORM.init(
    defineConfig({
      clientUrl,
      entities: [...entities],
      extensions: [Migrator],
      forceUtcTimezone: true,
      driverOptions: {
        connectionString: clientUrl,
        max: config.database.pool,
        Client: primaryClient(url),
        connectionTimeoutMillis: 3_000,
        // A new connection plans each of its statements again, which takes 20 to 40 ms in total with a year of partitions.
        idleTimeoutMillis: 60_000,
        // Finds out within 20 s that the machine of the server is gone, also while a connection waits for the result of a query.
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
        idle_in_transaction_session_timeout: 30_000,
        statement_timeout: timeoutMs,
        query_timeout: timeoutMs + 1_000,
        pipeline: true,
        application_name: 'coinop',
        onPoolCreated: planOnce,
      },
      migrations: { migrationsList: migrations, snapshot: false, silent: true, tableName: 'migrations' },
      ensureDatabase: false,
      debug: false,
    }),
  );
}

/**
 * Makes PostgreSQL plan each prepared statement only once and turns its JIT compiler off. Frequent statements are short and take arrays as
 * parameters, so planning or compiling each execution would cost more than the execution. Sets the time zone, because rows of closed months are exported as
 * text, which must not depend on the settings of the server.
 */
function planOnce(pool: Pool): void {
  pool.on('connect', (client) => {
    client.query(`set plan_cache_mode = force_generic_plan; set jit = off; set time zone 'UTC'`).catch(() => undefined);
  });
}
