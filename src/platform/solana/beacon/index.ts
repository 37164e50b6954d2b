/** The public API of the randomness beacon (drand): reads rounds from mirrors and verifies their signatures. */

export { verifySignature } from '#lib/draw/beacon-signature.ts';
export { type Beacon, type BeaconResult, beaconOf, openBeacon } from './beacon.ts';
export type { MirrorFault } from './mirrors.ts';
