import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { programState } from '../deployed-program.ts';
import type { Address } from '../primitives.ts';
import type { RpcNode } from '../rpc-node.ts';

const FILE = join(import.meta.dirname, '../../../../programs/draws/draws.so');

/**
 * The state of the deployed draws program. `ours`: its bytes equal the committed file `draws.so` and it has no upgrade authority, so nobody can change
 * it. `upgradeable`: its bytes are equal, but it has an upgrade authority.
 */
export type DrawsProgramState = 'ours' | 'upgradeable' | 'differs' | 'missing';

/**
 * Compares the deployed draws program with the committed file `draws.so`, at finalized. The result `ours` never changes, so the caller may keep it.
 * @throws 503 when the RPC node does not answer
 */
export async function drawsProgramState(node: RpcNode, program: Address): Promise<DrawsProgramState> {
  const state = await programState(node, program, await readFile(FILE));
  if (!state) return 'missing';
  if (!state.isEqual) return 'differs';
  return state.isFinal ? 'ours' : 'upgradeable';
}
