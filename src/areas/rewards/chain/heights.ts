import type { App } from '#platform/app.ts';

/**
 * Returns the finalized block height after which no transaction can land that was signed before this call: the last block at which the latest
 * blockhash is valid, plus the depth that makes this block final. Mainnet: 182 blocks after the present block.
 */
export async function heightAfterEarlier(app: App): Promise<number> {
  const { lastValidBlockHeight } = await app.chain.node.latestBlockhash('confirmed');
  return lastValidBlockHeight + app.config.chain.submission.depthBlocks;
}
