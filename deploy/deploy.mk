# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Installs aclguard, and makes packages of it, in $(BUILD)/packages:
#
#  make deb   aclguard_VERSION-RELEASE_ARCH.deb, for Debian and Ubuntu
#  make rpm   aclguard-VERSION-RELEASE.ARCH.rpm, for openEuler, and its .src.rpm
#  make dist  aclguard-VERSION.tar.gz, the source, from which rpmbuild -ta makes an rpm
#
# The packages hold PACKAGED, which is the static program: they need no library, so
# that one file installs on every release of a distribution.  The same tree gives
# the same bytes; their date is that of the last commit.

RELEASE	 ?= 1
PACKAGES := $(BUILD)/packages
PACKAGED ?= $(or $(STATIC_APP),$(APP))
DEB	 := $(PACKAGES)/aclguard_$(VERSION)-$(RELEASE)_$(DEB_ARCH).deb
STRIPPED := $(BUILD)/stripped/aclguard
DIST	 := $(PACKAGES)/aclguard-$(VERSION).tar.gz

# Of a tarball without its history, the date that its files have.
ifndef SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)
endif

# --- the manual -------------------------------------------------------------

# deploy/man/X.mdoc is the page X; `.so' takes in what several have in common.
MANS := $(patsubst deploy/man/%.mdoc,$(BUILD)/man/%.1,$(wildcard deploy/man/*.mdoc))

.PHONY: man
man: $(MANS)		## make the manual pages

$(MANS): $(BUILD)/man/%.1: deploy/man/%.mdoc $(wildcard deploy/man/parts/*.mdoc) $(FLAGS)
	$(call msg,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)awk -v version='$(VERSION)' ' \
		$$1 == ".so" { \
			while ((getline line < ("deploy/man/" $$2)) > 0) \
				if (line !~ /^\.\\"/) print line; \
			next } \
		{ gsub(/@VERSION@/, version); print }' $< > $@

# --- what a node and a fleet need ---------------------------------------------

# The rules as a resource of the Prometheus operator's.
PROMETHEUSRULE := $(BUILD)/prometheusrule.yaml
RULES := deploy/prometheus/recording.yml deploy/prometheus/alerts.yml
$(PROMETHEUSRULE): $(RULES) deploy/deploy.mk
	$(call msg,RULES,$@)
	$(Q)mkdir -p $(@D)
	$(Q)(printf '%s\n' '# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause' \
		'apiVersion: monitoring.coreos.com/v1' 'kind: PrometheusRule' 'metadata:' \
		'  name: aclguard' '  namespace: aclguard' 'spec:' '  groups:'; \
		sed -s '1,/^groups:/d; s/^./  &/' $(RULES)) > $@

# --- installation -----------------------------------------------------------

PROGRAM	?= $(APP)
BINDIR	= $(DESTDIR)$(PREFIX)/bin
DOCDIR	= $(DESTDIR)$(PREFIX)/share/doc/aclguard
MANDIR	= $(DESTDIR)$(PREFIX)/share/man/man1
COMPDIR	= $(DESTDIR)$(PREFIX)/share/bash-completion/completions
UNITDIR	= $(DESTDIR)$(PREFIX)/lib/systemd/system
SHAREDIR = $(DESTDIR)$(PREFIX)/share/aclguard
DOCS	= LICENSE $(wildcard README*.md)

.PHONY: install uninstall
install: $(PROGRAM) $(MANS) $(PROMETHEUSRULE)	## install below $(DESTDIR)$(PREFIX)
	install -D -m 755 $(PROGRAM) $(BINDIR)/aclguard
	install -D -m 644 -t $(MANDIR) $(MANS)
	install -D -m 644 -t $(COMPDIR) deploy/bash-completion/aclguard
	install -D -m 644 -t $(UNITDIR) deploy/systemd/aclguard.service
	sed -i 's,/usr/bin/aclguard,$(PREFIX)/bin/aclguard,; s,/usr/share/,$(PREFIX)/share/,' \
		$(UNITDIR)/aclguard.service
	install -D -m 644 -t $(SHAREDIR) deploy/systemd/default
	install -D -m 644 -t $(SHAREDIR)/prometheus deploy/prometheus/*.yml
	install -D -m 644 -t $(SHAREDIR)/grafana deploy/grafana/aclguard.json
	install -D -m 644 -t $(SHAREDIR)/kubernetes deploy/kubernetes/* $(PROMETHEUSRULE)
	$(if $(DOCS),install -D -m 644 -t $(DOCDIR) $(DOCS))

uninstall:		## remove what install put there
	rm -f $(BINDIR)/aclguard $(MANS:$(BUILD)/man/%=$(MANDIR)/%) $(COMPDIR)/aclguard \
		$(UNITDIR)/aclguard.service
	rm -rf $(DOCDIR) $(SHAREDIR)

# --- packages ---------------------------------------------------------------

.PHONY: deb rpm dist check-packages have-dpkg-deb have-rpmbuild
have-dpkg-deb have-rpmbuild: have-%:
	$(Q)command -v $* >/dev/null || sh tests/deps.sh packages

$(STRIPPED): $(PACKAGED)
	$(call msg,STRIP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LLVM_STRIP) --remove-section=.comment -o $@ $<

deb: have-dpkg-deb $(STRIPPED) $(MANS)	## make a package for Debian and Ubuntu
	$(Q)rm -rf $(BUILD)/deb
	$(Q)umask 022 && $(MAKE) -s install PROGRAM='$(STRIPPED)' PREFIX=/usr DOCS= \
		DESTDIR='$(abspath $(BUILD)/deb)' >/dev/null
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) sh deploy/debian/make_deb.sh \
		$(BUILD)/deb $(VERSION)-$(RELEASE) $(DEB_ARCH) $(DEB)
	@echo '$(DEB)'

# What lies in the tree's folders, without asking git: a tarball can make a tarball.
DIST_FILES := Makefile LICENSE $(wildcard README*.md) .ci .clang-format .clang-tidy .gitignore \
	      bpf deploy include src tests
dist:			## make the source tarball
	$(Q)rm -rf $(BUILD)/dist && mkdir -p $(BUILD)/dist/aclguard-$(VERSION) $(PACKAGES)
	$(Q)cp -pR $(DIST_FILES) $(BUILD)/dist/aclguard-$(VERSION)
	$(Q)find $(BUILD)/dist -name __pycache__ -exec rm -rf {} +
	$(Q)cd $(BUILD)/dist/aclguard-$(VERSION) && \
		sed -i 's/^\(VERSION[[:space:]]*?=\).*/\1 $(VERSION)/' Makefile && \
		sed -i -e 's/^\(Version:[[:space:]]*\).*/\1$(VERSION)/' -e 's/^\(Release:[[:space:]]*\)[0-9]*/\1$(RELEASE)/' \
			deploy/aclguard.spec && \
		chmod -R u+rwX,go=rX .
	$(Q)tar -C $(BUILD)/dist -c --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
		--mtime=@$(SOURCE_DATE_EPOCH) aclguard-$(VERSION) | gzip -9n > $(DIST)
	@echo '$(DIST)'

# --nodeps: on Debian, rpm's database knows of nothing that is installed.  gzip is
# what the rpm of every openEuler can unpack.
rpm: have-rpmbuild $(STRIPPED) dist	## make a package for openEuler, and its source package
	$(Q)rm -rf $(BUILD)/rpm && mkdir -p $(BUILD)/rpm
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) rpmbuild -ba --quiet --nodeps \
		--target $(CPU)-linux --with prebuilt \
		--define 'program $(abspath $(STRIPPED))' --define '_docdir_fmt %%{NAME}' \
		--define '_topdir $(abspath $(BUILD)/rpm)' --define '_sourcedir $(abspath $(PACKAGES))' \
		--define '_rpmdir $(abspath $(PACKAGES))' --define '_srcrpmdir $(abspath $(PACKAGES))' \
		--define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
		--define '_binary_payload w9.gzdio' --define '_source_payload w9.gzdio' \
		--define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
		--define 'clamp_mtime_to_source_date_epoch 1' \
		$(BUILD)/dist/aclguard-$(VERSION)/deploy/aclguard.spec
	@ls $(PACKAGES)/aclguard-$(VERSION)-$(RELEASE)*.rpm

check-packages:		## install, try and remove both packages in a fresh system (root)
	$(Q)sh tests/deps.sh build packages
	$(Q)$(MAKE) -s deb rpm $(SIM_TARGETS)
	$(Q)CACHE='$(abspath $(CACHE))' $(TAP) tests/build/check_packages.sh
