import { Migrator } from '@mikro-orm/migrations';
import { defineConfig, type EntityClass, type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Config } from '#config';
import { migrations } from './migrations/index.ts';
import { PoolClientAccess } from './sql.ts';

/**
 * Opens the record. No connection is made before the first query, so a process starts while the database is down.
 * @param config where the database is and how many connections this process may hold
 * @param entities the entities that the areas register
 * @param timeoutMs how long one statement may take; a database that does not answer is an error then, not a hang
 */
export function openOrm(config: Config, entities: readonly (EntitySchema | EntityClass)[], timeoutMs: number): Promise<MikroORM> {
  return MikroORM.init(
    defineConfig({
      clientUrl: config.database.url,
      entities: [...entities],
      extensions: [Migrator],
      forceUtcTimezone: true,
      driverOptions: {
        connectionString: config.database.url,
        max: config.database.pool,
        Client: PoolClientAccess,
        connectionTimeoutMillis: 3_000,
        idle_in_transaction_session_timeout: 30_000,
        statement_timeout: timeoutMs,
        query_timeout: timeoutMs + 1_000,
        pipeline: true,
        application_name: 'coinop',
        onPoolCreated: plansOnce,
      },
      migrations: { migrationsList: migrations, snapshot: false, silent: true, tableName: 'migrations' },
      ensureDatabase: false,
      debug: false,
    }),
  );
}

/** The statements of hot paths are short and take arrays: planning or compiling them each time would cost more than running them. */
function plansOnce(pool: Pool): void {
  pool.on('connect', (client) => void client.query('set plan_cache_mode = force_generic_plan; set jit = off').catch(() => undefined));
}
