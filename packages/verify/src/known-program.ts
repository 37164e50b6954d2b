/** Hash of the program `draws` (`programHash` of programs/draws/draws.so). Verifiers trust no other program unless they pin one. */
export const KNOWN_PROGRAM = '3de53f9a2dbd95c5385f04738d97712d86e160c7680429a9335dcc5414e66f74';
/** Hash of the program `distributor` (`programHash` of programs/distributor/distributor.so). */
export const KNOWN_DISTRIBUTOR = '38ecdf2a82e64ab3b7f4a792674af60b8963e52e301748e7b846151224146209';
