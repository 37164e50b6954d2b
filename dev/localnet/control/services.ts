import type { Beacon } from '../beacon/beacon.ts';
import type { Chain } from '../cluster/chain.ts';
import type { Node } from '../rpc/node.ts';
import type { Faults } from './faults.ts';

/** The parts of a localnet that its HTTP server exposes. */
export interface LocalnetServices {
  /** The chain of the cluster, which the first node always shows. */
  readonly chain: Chain;
  readonly beacon: Beacon;
  readonly faults: Faults;
  /** Returns whether the programs and accounts of a new cluster exist. Until then commands are refused, because a fault would make the start fail. */
  readonly isReady: () => boolean;
  /** `first` is the RPC node behind the first port, `second` the RPC node behind the second port. */
  readonly first: Node;
  readonly second: Node;
  /** Handles the body of `POST /faucet`. @throws CommandError */
  readonly faucet: (body: unknown) => Promise<object>;
}
