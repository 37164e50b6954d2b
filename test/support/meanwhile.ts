import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';

/**
 * An application in which something happens right after a statement has been answered for the first time: what another process does at the moment
 * that a race is about.
 * @param name of the statement
 */
export function meanwhile(app: App, name: string, happens: () => Promise<unknown>): App {
  let isOver = false;
  const watching =
    (of: Queryable): Queryable['query'] =>
    async (statement, values) => {
      const rows = await of.query(statement, values);
      if (statement.name === name && !isOver) {
        isOver = true;
        await happens();
      }
      return rows;
    };
  return { ...app, db: { ...app.db, query: watching(app.db) }, tx: (work) => app.tx((tx) => work({ ...tx, query: watching(tx) })) };
}
