import type { Player } from '../player.ts';

/** Values of a request that its schemas do not define; other values are generated. */
export interface RequestTemplate {
  readonly player?: Player | undefined;
  /** Whether only this player may send the request. */
  readonly isOwn?: boolean;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
