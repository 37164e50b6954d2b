import type { StorageConfig } from './config.ts';
import { openDisk } from './disk.ts';
import { openS3 } from './s3.ts';
import type { Storage } from './storage.ts';

/** The storage that a process is told of. It is reached when it is first needed. */
export const openStorage = ({ folder, s3 }: StorageConfig): Storage => (s3 ? openS3(folder, s3) : openDisk(folder));
