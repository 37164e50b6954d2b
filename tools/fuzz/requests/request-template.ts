import type { Player } from '../player.ts';

/** Given values of a request, for values that cannot be generated from the schemas. All other values are generated. */
export interface RequestTemplate {
  readonly player?: Player | undefined;
  /** Whether only `player` may send the request. */
  readonly isOwn?: boolean;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}
