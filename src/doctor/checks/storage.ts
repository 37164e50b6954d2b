import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { type Check, ok, warning } from '#doctor/check.ts';

/** Id of the file that the check stores and deletes. All processes use the same id, so that at most one such file can remain after a crash. */
const PROBE = '00000000-0000-4000-8000-00000000d0c7';

/** Checks whether media files can be stored: creates a draft in the folder and, with S3, stores and deletes a file of one byte. */
export const storage: Check = {
  name: 'storage',
  settings: ['MEDIA_FOLDER', 'MEDIA_S3_ENDPOINT', 'MEDIA_S3_BUCKET', 'MEDIA_S3_ACCESS_KEY', 'MEDIA_S3_SECRET_KEY'],
  remedy: 'Make MEDIA_FOLDER writable for the process; with S3, also correct the MEDIA_S3_* settings and the rights of the access key.',
  async run({ storage, config }) {
    const { folder, s3 } = config.storage;
    // A draft would create the folder, also when its name is mistyped. With S3 the folder holds only uploads in progress, and a new container has none.
    if (s3 === null && !existsSync(folder))
      return [warning(`the folder ${folder} does not exist; the service tries to create it`, 'Create the folder, or correct MEDIA_FOLDER.')];
    const draft = await storage.draft();
    try {
      await draft.fill(Readable.from([Buffer.from('1')]), 1, () => undefined);
      if (s3 === null) return [ok(`the folder ${folder} is writable`)];
      await storage.put(PROBE, draft, 'text/plain');
      await storage.remove(PROBE);
      return [ok(`the bucket ${s3.bucket} accepts files`)];
    } finally {
      await draft.close();
    }
  },
};
