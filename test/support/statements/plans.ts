import type pg from 'pg';
import { newId } from '#lib/ids.ts';
import type { Statement } from '#platform/db/sql.ts';

/** Makes PostgreSQL plan a prepared statement once for all parameters, as the connections of the service do. */
export const PLAN_ONCE = 'set plan_cache_mode = force_generic_plan; set jit = off';

/** Parameters by type, as SQL; null for the other types. A plan shows only the partitions that can have the ids. */
const VALUES: Readonly<Record<string, string>> = { uuid: `'${newId()}'`, 'uuid[]': `'{${newId()}}'` };

/** Returns whether a statement reads or writes tables. The others are commands such as SET and SAVEPOINT. */
export const usesTables = ({ text }: Statement<unknown>): boolean => /^\s*(?:select|insert|update|delete|with)\b/.test(text);

/**
 * Returns the plan of a statement that reads or writes tables, without running the statement. The connection keeps the prepared statement, so this
 * function can be called once per connection and statement.
 * @throws when the role of the connection has no right to run the statement
 */
export async function planOf(client: pg.Client, { name = '', text }: Statement<unknown>): Promise<string> {
  await client.query(`prepare ${name} as ${text}`);
  const { rows } = await client.query<{ type: string }>(
    `select t::regtype::text as type from pg_prepared_statements, unnest(parameter_types) with ordinality as p(t, n) where name = $1 order by n`,
    [name],
  );
  const values = rows.map(({ type }) => VALUES[type] ?? 'null');
  const plan = await client.query<Record<'QUERY PLAN', string>>(
    `explain (costs off) execute ${name}${values.length > 0 ? `(${values.join(', ')})` : ''}`,
  );
  return plan.rows.map((row) => row['QUERY PLAN']).join('\n');
}
