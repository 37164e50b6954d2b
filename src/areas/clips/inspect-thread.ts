import { readSync } from 'node:fs';
import { CustomSource, EncodedPacketSink, Input, MP4, WEBM } from 'mediabunny';
import { serve } from '#platform/threads/worker-thread.ts';

/** Maximum bytes of the file in memory. */
const MAX_CACHED_BYTES = 8 * 1024 * 1024;

const NAMES = { 'video/mp4': 'MP4', 'video/webm': 'WebM' } as const;

/** Reads the structure of video files. */
export interface MediaInspector {
  /**
   * Returns whether an open file has the structure of its type: a header, and a video track with a size, a known codec and a first frame inside the file.
   * @param file descriptor of the open file
   */
  isVideo(file: number, bytes: number, type: keyof typeof NAMES): Promise<boolean>;
}

const inspector: MediaInspector = {
  async isVideo(file, bytes, type) {
    const read = (start: number, end: number) => {
      const part = Buffer.allocUnsafe(end - start);
      return part.subarray(0, readSync(file, part, 0, part.length, start));
    };
    const source = new CustomSource({ getSize: () => bytes, read, maxCacheSize: MAX_CACHED_BYTES });
    const input = new Input({ formats: [MP4, WEBM], source });
    try {
      if ((await input.getFormat()).name !== NAMES[type]) return false;
      const track = await input.getPrimaryVideoTrack();
      if (track === null || (await track.getCodec()) === null) return false;
      if ((await track.getCodedWidth()) <= 0 || (await track.getCodedHeight()) <= 0) return false;
      const first = await new EncodedPacketSink(track).getFirstPacket();
      return first !== null && first.data.length > 0;
    } catch {
      // The library throws an error for a file that it cannot read.
      return false;
    } finally {
      input.dispose();
    }
  },
};
serve(inspector);
