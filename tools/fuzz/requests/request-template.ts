import type { Player } from '../player.ts';

/** Fixed values for the parts of a request that cannot be generated from the schemas. All other parts are generated. */
export interface RequestTemplate {
  readonly player?: Player | undefined;
  /** Whether only `player` may send the request. */
  readonly isOwn?: boolean;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
