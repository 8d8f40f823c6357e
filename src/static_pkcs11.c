/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * p11-kit for a static program, of which there is no static library: GnuTLS wants its
 * names for keys in hardware tokens.  A static program has no modules for tokens, so what
 * is asked for is not there, and what is tried fails.  Keys in files need none of it.
 */
#ifdef ACLGUARD_STATIC

#include <stddef.h>

/* GnuTLS has the declarations; here they differ in nothing that a caller would notice. */
#define NOTHING(name)        \
	void *name(void);    \
	void *name(void)     \
	{                    \
		return NULL; \
	}
#define FAILS(name)        \
	int name(void);    \
	int name(void)     \
	{                  \
		return -1; \
	}

NOTHING(p11_kit_config_option)
NOTHING(p11_kit_message)
NOTHING(p11_kit_module_get_flags)
NOTHING(p11_kit_module_get_name)
NOTHING(p11_kit_module_load)
NOTHING(p11_kit_module_release)
NOTHING(p11_kit_modules_load)
NOTHING(p11_kit_pin_file_callback)
NOTHING(p11_kit_pin_get_length)
NOTHING(p11_kit_pin_get_value)
NOTHING(p11_kit_pin_new_for_string)
NOTHING(p11_kit_pin_request)
NOTHING(p11_kit_pin_unref)
NOTHING(p11_kit_pin_unregister_callback)
NOTHING(p11_kit_space_strdup)
NOTHING(p11_kit_space_strlen)
NOTHING(p11_kit_strerror)
NOTHING(p11_kit_uri_free)
NOTHING(p11_kit_uri_get_attribute)
NOTHING(p11_kit_uri_get_attributes)
NOTHING(p11_kit_uri_get_module_info)
NOTHING(p11_kit_uri_get_pin_source)
NOTHING(p11_kit_uri_get_pin_value)
NOTHING(p11_kit_uri_get_token_info)
NOTHING(p11_kit_uri_match_module_info)
NOTHING(p11_kit_uri_match_token_info)
NOTHING(p11_kit_uri_new)
FAILS(p11_kit_module_finalize)
FAILS(p11_kit_pin_register_callback)
FAILS(p11_kit_uri_format)
FAILS(p11_kit_uri_parse)
FAILS(p11_kit_uri_set_attribute)

#endif
