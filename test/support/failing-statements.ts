import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';

/** Returns an application in which the transaction statement number `n`, counted from 0, fails without being sent. */
function failingAt(app: App, n: number, onFailure: (name: string) => void): App {
  let count = 0;
  const failing =
    (of: Queryable): Queryable['query'] =>
    async (statement, values) => {
      if (count++ !== n) return await of.query(statement, values);
      onFailure(statement.name ?? statement.text);
      throw new Error(`the statement ${n} fails`);
    };
  return { ...app, tx: (work) => app.tx((tx) => work({ ...tx, query: failing(tx) })) };
}

/**
 * Runs an operation once for each statement of its transactions, and makes this statement fail. Then runs the operation without a failure.
 * @returns the names of the statements whose failure the operation ignored, for instance because an `await` is missing
 */
export async function ignoredFailures(app: App, run: (app: App) => Promise<unknown>): Promise<string[]> {
  const ignored: string[] = [];
  for (let n = 0; ; n++) {
    let failed: string | null = null;
    const failing = failingAt(app, n, (name) => {
      failed = name;
    });
    const error: unknown = await run(failing).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (failed === null) {
      if (error !== null) throw error;
      return ignored;
    }
    if (!(error instanceof Error && error.message === `the statement ${n} fails`)) ignored.push(failed);
  }
}
