# Read by cpack once for each kind of package: a .deb is for /usr, a tar.gz for wherever it is unpacked.
if(CPACK_GENERATOR STREQUAL DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
