import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';

/**
 * Returns an application that runs a callback right after the first result of a statement, to simulate another process at that point of a
 * race.
 * @param name name of the statement
 */
export function meanwhile(app: App, name: string, callback: () => Promise<unknown>): App {
  let isDone = false;
  const intercepted =
    (of: Queryable): Queryable['query'] =>
    async (statement, values) => {
      const rows = await of.query(statement, values);
      if (statement.name === name && !isDone) {
        isDone = true;
        await callback();
      }
      return rows;
    };
  return { ...app, db: { ...app.db, query: intercepted(app.db) }, tx: (work) => app.tx((tx) => work({ ...tx, query: intercepted(tx) })) };
}
