import { openThread, type Remote, type Thread, withoutThread } from '#platform/threads/worker-thread.ts';
import type { WalletPage } from '../epochs/snapshot.ts';
import { EpochBuilder } from './builder.ts';

/**
 * Maximum length of the comma-separated addresses that are processed without a worker thread, characters: about 9,000 wallets. Starting a thread
 * takes 300 ms of CPU time; the computation for 9,000 wallets takes about 110 ms.
 */
const MAX_INLINE_CHARS = 400_000;

/**
 * Opens a builder. Uses a worker thread when there are many wallets, so that the event loop is not blocked.
 * @param first comma-separated addresses of the first page; if this page is not full, it contains all wallets
 */
function openBuilder(first: string): Thread<EpochBuilder> {
  if (first.length <= MAX_INLINE_CHARS) return withoutThread(new EpochBuilder());
  return openThread<EpochBuilder>(new URL('./thread.ts', import.meta.url));
}

/**
 * Adds all pages to a new builder, then calls `work` with the builder and the pages, and closes the builder at the end. Reads the next page while the
 * builder adds the current page.
 */
export async function buildFromPages<T>(
  from: AsyncIterable<WalletPage>,
  work: (builder: Remote<EpochBuilder>, pages: readonly WalletPage[]) => Promise<T>,
): Promise<T> {
  const pages: WalletPage[] = [];
  let builder: Thread<EpochBuilder> | null = null;
  try {
    let added: Promise<unknown> = Promise.resolve();
    for await (const page of from) {
      builder ??= openBuilder(page.wallets);
      pages.push(page);
      await added;
      added = builder.remote.add(page.wallets, page.values);
      added.catch(() => undefined);
    }
    await added;
    builder ??= openBuilder('');
    return await work(builder.remote, pages);
  } finally {
    await builder?.close();
  }
}
