import type pg from 'pg';
import { newId } from '#lib/ids.ts';
import type { Statement } from '#platform/db/sql.ts';

/** Makes the planner plan a statement once for all parameters, as the connections of the service do. */
const PLAN_ONCE = 'set local plan_cache_mode = force_generic_plan; set local jit = off';

/** Parameters by type, as SQL. A plan shows only the partitions that may have the ids. */
const VALUES: Readonly<Record<string, string>> = { uuid: `'${newId()}'`, 'uuid[]': `'{${newId()}}'` };

/**
 * Returns the plan of each statement that reads or writes tables, by its name.
 * @param client has a transaction open
 */
export async function plansOf(client: pg.Client, statements: readonly Statement<unknown>[]): Promise<Map<string, string>> {
  await client.query(PLAN_ONCE);
  const plans = new Map<string, string>();
  for (const { name = '', text } of statements) {
    if (!/^\s*(?:select|insert|update|delete|with)\b/.test(text)) continue;
    await client.query(`prepare planned as ${text}`);
    const { rows } = await client.query<{ type: string }>(
      `select t::regtype::text as type from pg_prepared_statements, unnest(parameter_types) with ordinality as p(t, n) where name = 'planned' order by n`,
    );
    const values = rows.map(({ type }) => VALUES[type] ?? 'null').join(', ');
    const plan = await client.query<Record<'QUERY PLAN', string>>(`explain (costs off) execute planned${values === '' ? '' : `(${values})`}`);
    plans.set(name, plan.rows.map((row) => row['QUERY PLAN']).join('\n'));
    await client.query('deallocate planned');
  }
  return plans;
}
