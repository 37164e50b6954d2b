import { type SentinelConnectionOptions, SentinelConnector } from 'ioredis';

/**
 * Finds the primary of a group with Sentinels. A lost connection of ioredis stays subscribed to the Sentinels until it is established again. When the
 * Sentinels announce a new primary while the connection searches it, ioredis ends the search, and the connection never connects again. This class
 * ends the subscription before the search.
 */
export class SearchingConnector extends SentinelConnector {
  #isSubscribed = false;

  constructor(options: unknown) {
    if (!hasSentinels(options)) throw new Error('the options name no Sentinels');
    super(options);
  }

  override async connect(...[emit]: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    if (this.#isSubscribed) this.disconnect();
    this.#isSubscribed = false;
    const stream = await super.connect(emit);
    stream.once('connect', () => {
      this.#isSubscribed = true;
    });
    return stream;
  }
}

const hasSentinels = (options: unknown): options is SentinelConnectionOptions =>
  typeof options === 'object' && options !== null && 'sentinels' in options && Array.isArray(options.sentinels);
