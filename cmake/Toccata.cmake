# Build rules shared by all modules.
#
# toccata_module(NAME DEPS a b LIBS x y): builds src/NAME/**/*.cc as the static library
# toccata_NAME and src/NAME/**/*_test.cc as the test program NAME_test, so that a new source
# or test file is never forgotten. DEPS are other modules, LIBS outside libraries. THREADS: the tests run code on several
# threads, so that CTest labels them "threads", and the target thread_tests, which ThreadSanitizer's part of ./run-tests
# builds, has their program. COMPUTES: the tests hold a slow reference of their own, so they are optimized.

find_package(Threads REQUIRED)
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(toccata_flags INTERFACE)
target_include_directories(toccata_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(toccata_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                       -Werror=return-type -ffp-contract=off -fno-math-errno)
# g++ 12 warns wrongly about "text" + std::string (GCC bug 105651) and about moved variants; clang checks both.
target_compile_options(toccata_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized>)
target_link_libraries(toccata_flags INTERFACE Threads::Threads)
if(TOCCATA_WERROR)
  target_compile_options(toccata_flags INTERFACE -Werror)
endif()
if(TOCCATA_SANITIZE)
  target_compile_options(toccata_flags INTERFACE -fsanitize=${TOCCATA_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(toccata_flags INTERFACE -fsanitize=${TOCCATA_SANITIZE})
endif()

add_custom_target(thread_tests)

function(toccata_test name)
  cmake_parse_arguments(A "THREADS;COMPUTES" "" "SOURCES;DEPS;LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${A_SOURCES})
  # Not __FILE__: a compiler cache may make that relative.
  target_compile_definitions(${name} PRIVATE TOCCATA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(NOT A_COMPUTES)  # halves the time to compile it; what it tests keeps the preset's flags
    target_compile_options(${name} PRIVATE -O0)
  endif()
  list(TRANSFORM A_DEPS PREPEND toccata_)
  target_link_libraries(${name} PRIVATE toccata_flags ${A_DEPS} ${A_LIBS} GTest::gtest_main)
  set(labels)
  if(A_THREADS)
    set(labels LABELS threads)
    add_dependencies(thread_tests ${name})
  endif()
  gtest_discover_tests(${name} NO_PRETTY_VALUES TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 300 PROPERTIES TIMEOUT 900 ${labels})
endfunction()

function(toccata_module name)
  cmake_parse_arguments(A "THREADS;COMPUTES" "" "DEPS;LIBS;EXCLUDE" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(A_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${A_EXCLUDE}")
  endif()
  list(TRANSFORM A_DEPS PREPEND toccata_ OUTPUT_VARIABLE deps)
  if(sources)
    add_library(toccata_${name} STATIC ${sources})
    target_link_libraries(toccata_${name} PUBLIC toccata_flags ${deps} ${A_LIBS})
  else()
    add_library(toccata_${name} INTERFACE)
    target_link_libraries(toccata_${name} INTERFACE toccata_flags ${deps} ${A_LIBS})
  endif()
  if(TOCCATA_TESTS AND tests)
    set(options)
    foreach(option THREADS COMPUTES)
      if(A_${option})
        list(APPEND options ${option})
      endif()
    endforeach()
    toccata_test(${name}_test SOURCES ${tests} DEPS ${name} ${options})
  endif()
endfunction()

# toccata_embed(TARGET NAME FILE): the bytes of FILE as `extern const std::string_view NAME;` in namespace toccata::embedded.
function(toccata_embed target name file)
  get_filename_component(path ${file} ABSOLUTE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cc)
  file(CONFIGURE OUTPUT ${unit} @ONLY CONTENT "#include <string_view>
namespace toccata::embedded {
static const unsigned char kBytes[] = {@bytes@};
extern const std::string_view @name@;
const std::string_view @name@(reinterpret_cast<const char*>(kBytes), sizeof kBytes);
}  // namespace toccata::embedded
")
  target_sources(${target} PRIVATE ${unit})
endfunction()
