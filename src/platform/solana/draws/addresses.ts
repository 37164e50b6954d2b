import { uuidBytes } from '#lib/draw/bytes.ts';
import { type Address, deriveAddress } from '../primitives.ts';

/** Derives the address of a founder's draws account. Each founder has exactly one. */
export const drawsAddress = (program: Address, founder: Address): Address => deriveAddress(program, Buffer.from('draws'), founder.toBuffer());

/**
 * Derives the address of the commitment of a round. A round has exactly one, so it can be committed only once.
 * @param roundId UUID of the round
 */
export function commitmentAddress(program: Address, draws: Address, roundId: string): Address {
  return deriveAddress(program, Buffer.from('commitment'), draws.toBuffer(), uuidBytes(roundId));
}
