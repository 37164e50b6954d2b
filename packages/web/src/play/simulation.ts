import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { type Api, client, ok } from '../client.ts';

/**
 * Downloads the simulation of a play and compares its bytes with the hash that the play names, so that the run of this page is the run that the arcade
 * computes again.
 */
export async function loadSimulation({ hash }: Api.Simulation): Promise<WebAssembly.Module> {
  const { body } = await ok(client.get('/arcade/simulation/{hash}', { params: { hash } }));
  const bytes = new Uint8Array(await body.arrayBuffer());
  if (bytesToHex(sha256(bytes)) !== hash) throw new Error('The arcade sent another game than the one that it named, so the play did not start');
  return await WebAssembly.compile(bytes);
}
