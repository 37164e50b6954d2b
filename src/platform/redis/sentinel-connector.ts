import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import type { Sentinels } from './sentinels.ts';

/** Time after which a socket that does not close on request is destroyed, ms. */
const DISCONNECT_TIMEOUT_MS = 2_000;
/** Interval between two searches while no Sentinel answers, ms. */
const SEARCH_INTERVAL_MS = 500;

/** Returns the part of an ioredis connection that connects to the primary of a group with Sentinels. ioredis creates one per connection. */
export const connectorTo = (sentinels: Sentinels): NonNullable<RedisOptions['Connector']> =>
  class extends AbstractConnector {
    constructor() {
      super(DISCONNECT_TIMEOUT_MS);
    }

    /** Refuses a server that says it is a replica. */
    override check({ role }: { role?: string }): boolean {
      return role === undefined || role === 'master';
    }

    /** Searches the primary until a Sentinel names it. @throws when the connection is closed meanwhile */
    override async connect(emit: Parameters<AbstractConnector['connect']>[0]): Promise<Socket> {
      this.connecting = true;
      for (;;) {
        const socket = await sentinels.open();
        if (!this.connecting) {
          socket?.destroy();
          throw new Error('Connection is closed.');
        }
        if (socket) {
          this.stream = socket;
          socket.once('error', (error) => {
            this.firstError = error;
          });
          return socket;
        }
        emit('error', new Error('no Sentinel names the primary'));
        await sleep(SEARCH_INTERVAL_MS);
      }
    }
  };
