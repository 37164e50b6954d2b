import type { Beacon } from './beacon/beacon.ts';
import type { Chain } from './cluster/chain.ts';
import type { Faults } from './control/faults.ts';
import type { Node } from './node.ts';

/** Everything that the server speaks for. */
export interface Served {
  readonly chain: Chain;
  readonly beacon: Beacon;
  readonly faults: Faults;
  /** Nodes, reached at `/` and at `/second`. */
  readonly first: Node;
  readonly second: Node;
  /** Gives development people what they ask for. */
  readonly faucet: (order: unknown) => Promise<object>;
}

/** What goes back; `cut`: the connection is closed instead. */
export type Reply = { readonly status: number; readonly body: object | string; readonly headers?: Readonly<Record<string, string>> } | 'cut';
