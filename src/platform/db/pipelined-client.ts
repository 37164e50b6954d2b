import pg from 'pg';

/** A query text for which `PipelinedClient` returns itself as the only row. The text is never sent to the server. */
export const ITSELF = '/* the connection itself */';

/**
 * A pg client that returns itself for the query `ITSELF`. The service gets the client this way, because Kysely and MikroORM give no access to it. The
 * service needs the client for named statements and for several statements in one round trip.
 */
export class PipelinedClient extends pg.Client {
  #ended = false;
  /** Returns the client to its pool. The function is set at the end of each use of the client. */
  #release: ((isLost: boolean) => void) | null = null;

  constructor(config?: pg.ClientConfig) {
    super(config);
    this.once('end', () => {
      this.#ended = true;
      this.#returnToPool();
    });
  }

  /**
   * Prepares the client to release itself when its connection is lost. Otherwise each connection that is lost inside a transaction would leave the
   * pool one connection smaller, because the rollback fails and Kysely never releases the client.
   * @returns a function to call at the end of the use; from then on the client releases itself when its connection is lost
   */
  hold(): () => void {
    // The pool sets a new `release` function on the client for each use.
    const release = 'release' in this && typeof this.release === 'function' ? this.release : null;
    return () => {
      this.#release = release && ((isLost) => void release(isLost));
      if (this.#ended) this.#returnToPool();
    };
  }

  #returnToPool(): void {
    try {
      this.#release?.(true);
    } catch {
      // `release` throws when the transaction has released the client already.
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg overloads `query` a dozen ways; this method forwards all of them.
  override query(...args: any[]): any {
    if (args[0] === ITSELF) return Promise.resolve({ command: '', rowCount: 0, rows: [this] });
    // biome-ignore lint/suspicious/noExplicitAny: the arguments are forwarded unchanged to an overloaded method.
    return (super.query as (...all: any[]) => any).apply(this, args);
  }
}
