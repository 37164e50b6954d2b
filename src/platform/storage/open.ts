import type { StorageConfig } from './config.ts';
import { openDisk } from './disk.ts';
import { openS3 } from './s3.ts';
import type { Storage } from './storage.ts';

/** Opens the configured storage: S3 when it is configured, otherwise the folder. The storage connects to S3 on first use. */
export const openStorage = ({ folder, s3 }: StorageConfig): Storage => (s3 ? openS3(folder, s3) : openDisk(folder));
