// Stands where Gloo has this header.
#pragma once

#include <gloo/declared.h>
